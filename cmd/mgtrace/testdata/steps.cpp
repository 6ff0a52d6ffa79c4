// Steps that need earlier ones. The number of a step is no number of what it needs.
#include <cstdio>
#include <vector>

struct Step {
	int id;
	long cost;
	std::vector<Step *> needs;

	Step(int i, long c) : id(i), cost(c) {}
};

static std::vector<Step *> all;

__attribute__((noinline)) static Step *make(int id, long cost) {
	all.push_back(new Step(id, cost));
	return all.back();
}

__attribute__((noinline)) static void need(Step *s, Step *on) { s->needs.push_back(on); }

int main() {
	for (int i = 0; i < 12; i++) {
		Step *s = make(i, 100 + i * 7);
		for (int j = 0; j < i && j < 1 + i % 4; j++)
			need(s, all[i - 1 - j]);
	}
	std::printf("%zu\n", all.size());
}
