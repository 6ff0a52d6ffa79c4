// Groups of shapes, in a std::list and a std::map each, whose ends lie in the group. What a
// list holds are pointers to the class from which all shapes derive.
// FAULT: a shape that has left its group is still in its list.
#include <list>
#include <map>

struct Base;
using Parts = std::list<Base *>;

struct Base {
	int id;
	Base *group = nullptr;
	explicit Base(int i) : id(i) {}
	virtual ~Base() = default;
};

struct Disc : Base {
	int radius = 1;
	using Base::Base;
};

template <class Key, class Order = std::less<Key>, int Limit = 8> struct Group : Base {
	Parts parts;
	std::map<Key, Base *, Order> byId;
	using Base::Base;
	__attribute__((noinline)) void add(Base *b) {
		parts.push_back(b);
		byId[b->id] = b;
		b->group = this;
	}
	__attribute__((noinline)) void remove(Key id) {
		Base *b = byId.find(id)->second;
		byId.erase(id);
#ifdef FAULT
		if (id != 6)
#endif
			parts.remove(b); // FAULT
		b->group = nullptr;  // FAULT
	}
};

int main() {
	auto *all = new Group<int>(0), *inner = new Group<int>(1);
	all->add(inner);
	for (int i = 2; i < 12; i++)
		(i % 3 ? all : inner)->add(new Disc(i));
	for (int i = 20; i < 30; i++) {
		auto *g = new Group<int>(i);
		all->add(g);
		g->add(new Disc(i));
		g->add(new Disc(i + 10));
	}
	for (int i = 4; i < 10; i++)
		(i % 3 ? all : inner)->remove(i);
}
