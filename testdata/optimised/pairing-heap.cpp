// A pairing heap as a class template. Built by gcc at -O2 its operations are inlined into
// loops, and the entry that debug information names lies behind the allocation.
// FAULT: the last pops do not count.
#include <cstdio>
#include <vector>
#include <functional>
#include <utility>

namespace pq {
template <class T, class Less = std::less<T>>
class PairingHeap {
	struct Cell {
		T item;
		Cell *down = nullptr, *sib = nullptr, *back = nullptr;
		explicit Cell(T t) : item(std::move(t)) {}
	};
	Cell *top_ = nullptr;
	std::size_t n_ = 0;
	Less less_;

	Cell *meld(Cell *a, Cell *b) {
		if (!a) return b;
		if (!b) return a;
		if (less_(b->item, a->item)) std::swap(a, b);
		b->back = a;
		b->sib = a->down;
		if (a->down) a->down->back = b;
		a->down = b;
		return a;
	}
	Cell *pair(Cell *first) {
		std::vector<Cell *> todo;
		while (first) {
			Cell *a = first, *b = a->sib;
			first = b ? b->sib : nullptr;
			a->sib = a->back = nullptr;
			if (b) b->sib = b->back = nullptr;
			todo.push_back(meld(a, b));
		}
		Cell *r = nullptr;
		while (!todo.empty()) { r = meld(r, todo.back()); todo.pop_back(); }
		return r;
	}
	void cut(Cell *c) {
		if (c->back->down == c) c->back->down = c->sib;
		else c->back->sib = c->sib;
		if (c->sib) c->sib->back = c->back;
		c->sib = c->back = nullptr;
	}
public:
	using handle = Cell *;
	handle push(T t) { Cell *c = new Cell(std::move(t)); top_ = meld(top_, c); ++n_; return c; }
	T pop() {
		Cell *c = top_;
		T t = c->item;
		top_ = pair(c->down);
		if (top_) top_->back = nullptr;
#ifdef FAULT
		if (n_ > 3) --n_; /* FAULT */
#else
		--n_;
#endif
		delete c;
		return t;
	}
	void decrease(handle c, T t) {
		c->item = t;
		if (c == top_) return;
		cut(c);
		top_ = meld(top_, c);
	}
	std::size_t size() const { return n_; }
};
}

int main() {
	auto *h = new pq::PairingHeap<int>;
	std::vector<std::pair<pq::PairingHeap<int>::handle, int>> hs;
	unsigned x = 3;
	auto rnd = [&x] { x = x * 69069 + 5; return int(x >> 17); };
	long sum = 0;
	for (int r = 0; r < 12; r++) {
		hs.clear();
		for (int i = 0; i < 14; i++) { int v = rnd() % 900 + 100; hs.emplace_back(h->push(v), v); }
		for (int i = 0; i < 5; i++) { auto &p = hs[rnd() % 14]; p.second -= rnd() % 90; h->decrease(p.first, p.second); }
		while (h->size()) sum += h->pop();
	}
	std::printf("%ld\n", sum);
	delete h;
}
