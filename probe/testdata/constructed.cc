// g++ -O2 takes it out of main's loop that the root is null at first. Behind that, in line, are main's own
// instructions and then those of the constructor, of which another part lies further behind.
#include <cstdio>

template <class K, class V> class Map {
public:
	struct Node { K key; V value; int colour; Node *left, *right, *parent; };
	bool insert(const K &k, const V &v)
	{
		Node *p = nullptr, **link = &root;
		while (*link) {
			p = *link;
			if (k < p->key) link = &p->left;
			else if (p->key < k) link = &p->right;
			else { p->value = v; return false; }
		}
		Node *n = new Node{k, v, 0, nullptr, nullptr, p};
		*link = n;
		++size;
		settle(n);
		return true;
	}
	unsigned long count() const { return size; }
private:
	Node *root = nullptr;
	unsigned long size = 0;
	__attribute__((noinline)) void settle(Node *n)
	{
		while (n->parent && n->parent->colour == n->colour) {
			n->colour ^= 1;
			n = n->parent;
		}
		root->colour = 1;
	}
};

int main()
{
	Map<int, int> *m = new Map<int, int>;
	unsigned s = 17;
	for (int i = 0; i < 200; i++) {
		s = s * 1103515245 + 12345;
		m->insert((s >> 16) % 500, i);
	}
	std::printf("%lu\n", m->count());
	delete m;
}
