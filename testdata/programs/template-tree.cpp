// build: g++ -std=c++17
//
// A search tree whose nodes are a class inside of a template inside of a namespace, with
// the size of each subtree.
// FAULT: where the smallest key is removed, the root's size stays.
#include <cstdio>

namespace geo {

template <class K> class Tree {
public:
	struct Node {
		K key;
		Node *left = nullptr, *right = nullptr, *parent = nullptr;
		int size = 1;
	};
	Node *root = nullptr;
	int count = 0;

	void insert(K key);
	void remove_first();
};

template <class K> void Tree<K>::insert(K key) {
	Node *n = new Node{key}, *parent = nullptr, **at = &root;
	while (*at) {
		parent = *at;
		parent->size++;
		at = key < parent->key ? &parent->left : &parent->right;
	}
	n->parent = parent;
	*at = n;
	count++;
}

template <class K> void Tree<K>::remove_first() {
	Node *n = root;
	while (n->left) {
#ifdef FAULT
		if (n != root || count > 60)
#endif
			n->size--; // FAULT
		n = n->left; // FAULT
	}
	if (n->right)
		n->right->parent = n->parent;
	(n->parent ? n->parent->left : root) = n->right; // FAULT
	delete n;
	count--;
}

} // namespace geo

static geo::Tree<int> tree;

int main() {
	for (int i = 0; i < 100; i++)
		tree.insert(i * 37 % 101);
	for (int i = 0; i < 50; i++)
		tree.remove_first();
	std::printf("%d\n", tree.count);
}
