// build: g++ -std=c++17
//
// Shelves with books in vectors of std::shared_ptr; a book knows its shelf. To take a book
// from the middle of a vector the library moves those behind it, in templates that call
// one another a dozen deep.
// FAULT: a neighbour is taken from the shelf.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

struct Shelf;

struct Book {
	int number;
	Shelf *shelf = nullptr;
	explicit Book(int n) : number(n) {}
};

struct Shelf {
	std::vector<std::shared_ptr<Book>> books;
};

__attribute__((noinline)) static void put(Shelf *s, const std::shared_ptr<Book> &b) {
	s->books.push_back(b);
	b->shelf = s;
}

__attribute__((noinline)) static void take(const std::shared_ptr<Book> &b) {
	std::vector<std::shared_ptr<Book>> &books = b->shelf->books;
	auto at = std::find(books.begin(), books.end(), b);
	b->shelf = nullptr;
#ifdef FAULT
	books.erase(b->number == 17 ? at + 1 : at); // FAULT
#else
	books.erase(at);
#endif
}

int main() {
	auto a = std::make_unique<Shelf>(), b = std::make_unique<Shelf>();
	for (int i = 0; i < 30; i++)
		put(i % 3 ? a.get() : b.get(), std::make_shared<Book>(i));
	for (int i = 0; i < 12; i++) {
		auto book = a->books[i * 5 % a->books.size()];
		take(book);
		put(i % 2 ? a.get() : b.get(), book);
	}
	std::printf("%zu %zu\n", a->books.size(), b->books.size());
}
