// build: g++ -std=c++17
//
// A search tree that owns its children by std::unique_ptr, with raw pointers to
// the parents.
// FAULT: when a node with one child is erased, the child is told that the node
// which goes is its parent.
#include <cstdio>
#include <memory>
#include <utility>

template <class Key> struct TreeNode {
	Key key;
	TreeNode *parent;
	std::unique_ptr<TreeNode> left, right;

	TreeNode(Key k, TreeNode *p) : key(k), parent(p) {}
};

template <class Key> class Tree {
	using Link = std::unique_ptr<TreeNode<Key>>;
	Link root;
	std::size_t size = 0;

public:
	void insert(Key k)
	{
		Link *link = &root;
		TreeNode<Key> *parent = nullptr;
		while (*link) {
			parent = link->get();
			link = k < parent->key ? &parent->left : &parent->right;
		}
		*link = std::make_unique<TreeNode<Key>>(k, parent);
		++size;
	}

	void erase(Key k)
	{
		Link *link = &root;
		while (*link && (*link)->key != k)
			link = k < (*link)->key ? &(*link)->left : &(*link)->right;
		if (!*link)
			return;
		TreeNode<Key> *gone = link->get();
		if (gone->left && gone->right) {
			Link *most = &gone->left;
			while ((*most)->right)
				most = &(*most)->right;
			gone->key = (*most)->key;
			gone = most->get();
			link = most;
		}
		Link rest = std::move(gone->left ? gone->left : gone->right);
		if (rest)
#ifdef FAULT
			rest->parent = gone; // FAULT
#else
			rest->parent = gone->parent;
#endif
		*link = std::move(rest);
		--size;
	}
};

int main()
{
	auto *tree = new Tree<long>;
	for (long i = 0; i < 40; i++)
		tree->insert(i * 37 % 101);
	for (long i = 0; i < 20; i++)
		tree->erase(i * 37 % 101);
	std::puts("done");
}
