// A list of bags, each with a std::list that begins empty: its end, which lies in the bag,
// leads to itself until the compiled part of the C++ library links the first element.
// FAULT: a bag has the number of the one before it.
#include <list>

struct Bag {
	int id;
	Bag *next;
	std::list<int> held;
};

static Bag *first;

__attribute__((noinline)) static void add(int i) {
	Bag *b = new Bag;
#ifdef FAULT
	b->id = i == 7 ? 6 : i; // FAULT
#else
	b->id = i;
#endif
	b->next = first;
	first = b;
}

__attribute__((noinline)) static void hold(Bag *b, int i) { b->held.push_back(i); }

int main() {
	for (int i = 0; i < 12; i++)
		add(i);
	for (Bag *b = first; b; b = b->next)
		if (b->id % 2) {
			hold(b, 1);
			hold(b, 2);
		}
}
