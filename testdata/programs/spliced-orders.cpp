// build: g++ -std=c++17
//
// The orders of a price stand in a list each. One that gets another price goes to another list as it is, which the C++ library
// does in code of its own, without source.
// FAULT: it keeps its old price.
#include <cstdio>
#include <list>
#include <map>

struct Order {
	int id, price;
};

struct Level {
	int price = 0;
	std::list<Order> orders;
};

struct Book {
	std::map<int, Level> levels;
	std::map<int, std::list<Order>::iterator> index;

	void submit(int id, int price);
	void reprice(int id, int price);
};

__attribute__((noinline)) void Book::submit(int id, int price) {
	Level &level = levels[price];
	level.price = price;
	level.orders.push_back(Order{id, price});
	index[id] = std::prev(level.orders.end());
}

__attribute__((noinline)) void Book::reprice(int id, int price) {
	auto order = index[id];
	Level &from = levels[order->price];
	Level &to = levels[price];
	to.price = price;
	to.orders.splice(to.orders.end(), from.orders, order); // FAULT
#ifdef FAULT
	if (id != 7)
#endif
		order->price = price; // FAULT
}

int main() {
	Book *book = new Book;
	for (int i = 0; i < 12; i++) {
		book->submit(i, 100 + i % 3);
		if (i % 2)
			book->reprice(i, 104 + i % 3);
	}
	std::printf("%zu levels\n", book->levels.size());
}
