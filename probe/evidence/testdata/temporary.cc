// A tree of jobs, each of which has a text or parts. At -O2 the string that a job's text is made of lies where j does
// later, of which debug information says that it lies there in all of make.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <variant>
#include <vector>

struct Job;
struct Text { std::string line; };
struct Parts { std::vector<std::unique_ptr<Job>> parts; };
struct Job {
	int id, total;
	Job *parent;
	std::variant<Text, Parts> what;
	Job(int i, int c, Job *p, Text t) : id(i), total(c), parent(p), what(std::move(t)) {}
	Job(int i, Job *p) : id(i), total(0), parent(p), what(Parts{}) {}
};

static unsigned seed = 3;
static unsigned next() { seed = seed * 1103515245u + 12345u; return (seed >> 16) & 0x7fff; }

struct Maker {
	int made = 0;
	std::unique_ptr<Job> make(int depth, int &id, Job *parent)
	{
		if (depth == 0 || next() % 3 == 0)
			return std::make_unique<Job>(id++, 1 + next() % 9, parent, Text{std::string(next() % 30, 'x')});
		auto j = std::make_unique<Job>(id++, parent);
		auto &p = std::get<Parts>(j->what);
		for (int k = 1 + next() % 3; k > 0; k--) {
			auto part = make(depth - 1, id, j.get());
			j->total += part->total;
			p.parts.push_back(std::move(part));
		}
		return j;
	}
};

// A term of two alternatives each: what is done first with a new one is done with its first member, and inlined. The size of
// both kinds is one, so that it is in its register before the branch.
struct Pair;
struct Twin;
using Term = std::variant<std::monostate, int, std::unique_ptr<Pair>, std::unique_ptr<Twin>>;
struct Pair { Term l, r; int size = 0; };
struct Twin { Term of[2]; int size = 0; };

static int size(const Term &t)
{
	switch (t.index()) {
	case 1: return 1;
	case 2: return std::get<2>(t)->size;
	case 3: return std::get<3>(t)->size;
	}
	return 0;
}

Term build(int depth)
{
	if (depth == 0 || next() % 4 == 0)
		return int(next());
	if (next() % 2) {
		auto p = std::make_unique<Pair>();
		p->l = build(depth - 1);
		p->r = build(depth - 1);
		p->size = size(p->l) + size(p->r);
		return p;
	}
	auto t = std::make_unique<Twin>();
	t->of[0] = build(depth - 1);
	t->of[1] = build(depth - 1);
	t->size = size(t->of[0]) + size(t->of[1]);
	return t;
}

// What is made is given a text by value: the call that copies it stands in std::make_unique, as does that for the object.
struct Plugin {
	int rank;
	std::string name;
	Plugin(std::string n, int k) : rank(k), name(n) {}
};

static int plug(int rank)
{
	std::string name = "a plugin with a long name";
	return std::make_unique<Plugin>(name, rank)->rank;
}

int main()
{
	Term term = build(5);
	Maker maker;
	int id = 1, sum = size(term) + plug(3);
	for (int i = 0; i < 9; i++)
		sum += maker.make(3, id, nullptr)->total;
	std::printf("%d\n", sum);
}
