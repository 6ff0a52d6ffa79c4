#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <stdexcept>
#include <string>

struct Base {
	int id;
	virtual ~Base() {}
	virtual int weight() const { return id; }
};

struct Mixin { long mixed; };

class Node : public Base, public Mixin {
public:
	Node *left, *right;
	bool red : 1;
	unsigned rank : 7;
	static Node *nil;
	static int count;
	enum Side { Left, Right };
	struct Inner { Side side; Node *node; } inner;
	int weight() const override { return id * 2; }
	int Node::*field;
	int (Node::*method)() const;
};

class Virtual : public virtual Base { public: int own; };

Node *Node::nil;
int Node::count = 1;

enum class Color : signed char { Red = -1, Black = 1 };

namespace forest {
int counter;
inline namespace v1 {
template <class T> struct Tree {
	T *root;
	int size;
	void insert(T *t);
	void insert(T *t, int times);
};
template <class T> __attribute__((noinline)) void Tree<T>::insert(T *t)
{
	t->left = root;
	root = t;
	size++;
	counter++;
}
template <class T> __attribute__((noinline)) void Tree<T>::insert(T *t, int times)
{
	for (int i = 0; i < times; i++)
		insert(t);
}
}
}

namespace {
Color color = Color::Black;
int secret = 3;
__attribute__((noinline)) int local(int x) { return x + secret; }
}

typedef struct { int x, y; } point;
point origin = { 1, 2 };

static inline int square(int x) { return x * x; }
static inline int squares(int a, int b) { return square(a) + square(b); }

std::map<int, int> table;
std::list<point> points;

__attribute__((noinline)) int insert(Node *n, const char *s, std::string copy, int k)
{
	int near = k + 1;
	table[k] = squares(near, k);
	points.push_back(point{k, near});
	n->left = new Node;
	printf("%s %s %d\n", s, copy.c_str(), near);
	if (k > 1000)
		throw std::runtime_error("k");
	return table[k] + local(k);
}

__attribute__((noinline)) int insert(double d) { return (int)(d * 2); }

int main(int argc, char **argv)
{
	Node n{};
	Virtual v;
	forest::Tree<Node> tree{};
	tree.insert(&n);
	tree.insert(&n, 2);
	Node::nil = &n;
	auto twice = [&](int x) { return x * n.id + v.own; };
	int r = insert(&n, argv[0], argv[0], argc) + insert(2.5) + twice(argc) + (int)color + origin.x;
	return r == 12345;
}
