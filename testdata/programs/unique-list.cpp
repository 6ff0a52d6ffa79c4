// build: g++ -std=c++17
//
// A queue that owns its items by std::unique_ptr, from the first to the last.
// FAULT: an urgent item, which goes behind the first, does not take over what
// follows. It is the library's code that stores, for the line that says so.
#include <cstdio>
#include <memory>
#include <utility>

struct Item {
	int number;
	std::unique_ptr<Item> next;

	explicit Item(int n) : number(n) {}
};

struct Queue {
	std::unique_ptr<Item> first;
	Item *last = nullptr;
	int length = 0;
};

static void append(Queue &q, int number)
{
	auto item = std::make_unique<Item>(number);
	Item *end = item.get();
	if (q.last)
		q.last->next = std::move(item);
	else
		q.first = std::move(item);
	q.last = end;
	q.length++;
}

static void take(Queue &q)
{
	std::unique_ptr<Item> item = std::move(q.first);
	q.first = std::move(item->next);
	if (!q.first)
		q.last = nullptr;
	q.length--;
}

static void urgent(Queue &q, int number)
{
	auto item = std::make_unique<Item>(number);
#ifdef FAULT
	q.first->next = std::move(item); // FAULT
#else
	item->next = std::move(q.first->next);
	q.first->next = std::move(item);
#endif
	q.length++;
}

int main()
{
	auto *q = new Queue;
	for (int i = 0; i < 20; i++)
		append(*q, i);
	for (int i = 0; i < 5; i++)
		take(*q);
	for (int i = 0; i < 3; i++)
		append(*q, 100 + i);
	urgent(*q, 300);
	append(*q, 200);
	std::printf("%d\n", q->length);
}
