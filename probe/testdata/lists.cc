// C++: templates, operator new and delete, exceptions, shared pointers.
#include <list>
#include <memory>
#include <stdexcept>

template <class T> struct List {
	struct Node { T value; Node *next; };
	Node *head = nullptr;
	__attribute__((noinline)) void push(T v);
};

template <class T> void List<T>::push(T v)
{
	if (v < 0)
		throw std::runtime_error("negative");
	head = new Node{v, head};
}

int main(int argc, char **)
{
	List<int> a;
	List<long> b;
	std::list<int> l;
	auto p = std::make_shared<int>(argc);
	auto q = p;
	try {
		for (int i = 3; i > -argc; i--) {
			a.push(i);
			b.push(i);
			l.push_back(*q);
		}
	} catch (std::exception &) {
		return 1;
	}
	return (int)l.size();
}
