// build: g++ -std=c++17
// Two search trees by value: one of main, one of a function that an exception leaves, and longjmp in the end. They count
// their nodes; main empties one itself, and the compiler may inline what does.
// FAULT: a node that is found to be there already is counted nevertheless.
#include <csetjmp>
#include <cstdio>
#include <stdexcept>

namespace keep {

__attribute__((noinline)) void leaves(const void *tree)
{
	std::printf("%d", tree != nullptr);
}

template <class Key> struct Tree {
	struct Node {
		Key key;
		Node *left = nullptr, *right = nullptr;
		explicit Node(Key k) : key(k) {}
	};

	Node *root = nullptr;
	long count = 0;

	Tree() = default;
	Tree(const Tree &) = delete;
	~Tree()
	{
		leaves(this);
		drop(root); // and nothing is written in what ends here: the other tree of main is whole meanwhile
	}

	void insert(Key key);
	void clear()
	{
		drop(root);
		root = nullptr;
		count = 0;
	}

private:
	static void drop(Node *n)
	{
		if (!n)
			return;
		drop(n->left);
		drop(n->right);
		delete n;
	}
};

template <class Key> __attribute__((noinline)) void Tree<Key>::insert(Key key)
{
	Node **at = &root;
	while (*at && (*at)->key != key)
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
#ifdef FAULT
	if (*at)
		count++; // FAULT
#endif
	if (*at)
		return;
	*at = new Node(key);
	count++;
}

struct Reader {
	long sum = 0;

	__attribute__((noinline)) void read(int n);
	template <class Key> __attribute__((noinline)) long fill(Key n);
};

void Reader::read(int n)
{
	Tree<int> seen;
	for (int i = 0; i < n; i++) {
		seen.insert(i * 7 % 5);
		if (i == 6)
			throw std::runtime_error("too many");
	}
	sum += seen.count;
}

template <class Key> long Reader::fill(Key n)
{
	Tree<Key> mine;
	for (Key i = 0; i < n; i++)
		mine.insert(i * 3 % n);
	return mine.count;
}

} // namespace keep

static std::jmp_buf back;

__attribute__((noinline)) static void jumps(keep::Tree<int> &t)
{
	t.insert(12);
	std::longjmp(back, 1);
}

int main()
{
	keep::Tree<int> first;
	for (int i : {5, 2, 8, 1, 9, 3})
		first.insert(i);
	keep::Tree<int> second;
	second.insert(4);
	keep::Reader r;
	for (int n : {3, 9, 4}) {
		try {
			r.read(n);
		} catch (const std::exception &) {
			r.sum += 100;
		}
		first.insert(n);
	}
	r.sum += r.fill<int>(6) + r.fill<long>(4);
	if (!setjmp(back))
		jumps(second);
	first.clear();
	first.insert(7);
	std::printf("%ld %ld %ld\n", r.sum, first.count, second.count);
}
