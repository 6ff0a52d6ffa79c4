// build: g++ -std=c++17
//
// A list that owns its items by std::shared_ptr, and leads back by std::weak_ptr. The
// items lie in the blocks of std::make_shared, behind its counters.
// FAULT: an item that is put between two others is not known to the second.
#include <cstdio>
#include <memory>

struct Item {
	int number;
	std::shared_ptr<Item> next;
	std::weak_ptr<Item> before;

	explicit Item(int n) : number(n) {}
};

static std::shared_ptr<Item> first;

__attribute__((noinline)) static void insert(int n) {
	auto item = std::make_shared<Item>(n);
	std::shared_ptr<Item> p = first, q;
	for (; p && p->number < n; p = p->next)
		q = p;
	item->next = p;
	item->before = q;
#ifdef FAULT
	if (p && n != 45)
#else
	if (p)
#endif
		p->before = item; // FAULT
	(q ? q->next : first) = item;
}

__attribute__((noinline)) static void remove_first() {
	first = first->next;
	if (first)
		first->before.reset();
}

int main() {
	for (int i = 0; i < 60; i++)
		insert(i * 37 % 60);
	for (int i = 0; i < 10; i++)
		remove_first();
	int n = 0;
	for (auto p = first; p; p = p->next)
		n += p->number;
	std::printf("%d\n", n);
	while (first) // one by one: else the last owner ends them all in one recursion
		remove_first();
}
