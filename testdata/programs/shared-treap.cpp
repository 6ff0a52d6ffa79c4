// build: g++ -std=c++17
//
// A set of numbers as a treap, whose nodes std::shared_ptr owns, and which lead back by std::weak_ptr; priorities are random.
// FAULT: the node with the lesser priority goes above. The comparison is wrong, and no store is.
#include <cstdio>
#include <cstdlib>
#include <memory>

struct Tree;
using Ptr = std::shared_ptr<Tree>;

struct Tree {
	int key, prio, size = 1;
	Ptr left, right;
	std::weak_ptr<Tree> parent;
	Tree(int k, int p) : key(k), prio(p) {}
};

static int size(const Ptr &t) { return t ? t->size : 0; }

static void fix(const Ptr &t)
{
	t->size = 1 + size(t->left) + size(t->right);
	if (t->left)
		t->left->parent = t;
	if (t->right)
		t->right->parent = t;
}

static void split(Ptr t, int key, Ptr &a, Ptr &b)
{
	if (!t) {
		a = b = nullptr;
		return;
	}
	if (t->key < key) {
		split(t->right, key, t->right, b);
		a = t;
	} else {
		split(t->left, key, a, t->left);
		b = t;
	}
	fix(t);
}

static Ptr merge(Ptr a, Ptr b)
{
	if (!a)
		return b;
	if (!b)
		return a;
#ifdef FAULT
	if (a->prio < b->prio) { /* FAULT */
#else
	if (a->prio > b->prio) {
#endif
		a->right = merge(a->right, b);
		fix(a);
		return a;
	}
	b->left = merge(a, b->left);
	fix(b);
	return b;
}

class Set {
	Ptr root;

	bool contains(int key) const
	{
		const Tree *t = root.get();
		while (t && t->key != key)
			t = key < t->key ? t->left.get() : t->right.get();
		return t;
	}

public:
	void insert(int key)
	{
		if (contains(key))
			return;
		Ptr a, b;
		split(root, key, a, b);
		root = merge(merge(a, std::make_shared<Tree>(key, std::rand() % 10000)), b);
		root->parent.reset();
	}

	void erase(int key)
	{
		Ptr a, b, c;
		split(root, key, a, b);
		split(b, key + 1, b, c);
		root = merge(a, c);
		if (root)
			root->parent.reset();
	}

	int count() const { return size(root); }
};

int main()
{
	auto s = std::make_unique<Set>();
	std::srand(6);
	for (int i = 0; i < 300; i++) {
		int key = std::rand() % 100;
		if (std::rand() % 5 < 3)
			s->insert(key);
		else
			s->erase(key);
	}
	std::printf("%d\n", s->count());
}
