#include <cstdio>
#include <functional>
#include <memory>
#include <string>

struct Plan {
	int id = 0;
	std::shared_ptr<Plan> next;
	std::string what;
	std::string apply(int n) const
	{
		auto most = [this](int by) { return id < by ? by : id; };
		return std::to_string(most(n));
	}
};

static void add(std::shared_ptr<Plan> &first, int id)
{
	auto p = std::make_shared<Plan>();
	p->id = id;
	p->next = first;
	if (id % 2)
		p->what = p->apply(id);
	else
		p->what = "even";
	first = p;
}

int main(int, char **argv)
{
	FILE *self = fopen(argv[0], "r");
	std::shared_ptr<Plan> first;
	for (int id = 0; id < 12; id++)
		add(first, id);
	std::function<int(Plan &)> sum = [&](Plan &p) { return p.id + (p.next ? sum(*p.next) : 0); };
	printf("%d\n", sum(*first));
	return fclose(self);
}
