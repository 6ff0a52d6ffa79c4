// Allocation sites of C++ programs; the comments are as in sites.c.
#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

struct Node { int value; Node *next; };
struct Shape { virtual ~Shape() {} virtual double area() const { return 0; } };
struct Circle : Shape { double r; Circle(double r) : r(r) {} double area() const override { return 3 * r * r; } };
struct Square : Shape { double a; explicit Square(double a); double area() const override { return a * a; } };
Square::Square(double a) : a(a) {}
struct Counted { int n; ~Counted() { std::printf("-"); } };
namespace ns {
template <class T> struct Tree {
	struct Leaf { T key; Leaf *left, *right; Leaf(const T &k) : key(k), left(nullptr), right(nullptr) {} };
	Leaf *root = nullptr;
	void insert(const T &k)
	{
		Leaf **at = &root;
		while (*at)
			at = k < (*at)->key ? &(*at)->left : &(*at)->right;
		*at = new Leaf(k); // =ns::Tree<T>::Leaf
	}
};
template <class T> struct Trie {
	T value;
	union {
		Trie *one;
		Trie **table;
	} next;
	__attribute__((noinline)) void spread(int n)
	{
		next.table = static_cast<Trie **>(std::malloc(sizeof(Trie *) * n)); // =ns::Trie<T> *[] for sure by its text
		for (int i = 0; i < n; i++)
			next.table[i] = nullptr;
	}
};
}
struct Pod { long a[3]; };
struct Owner { Node *node; std::unique_ptr<Pod> pod; };

Node *push(Node *next, int v)
{
	Node *n = new Node; // =Node
	n->value = v;
	n->next = next;
	return n;
}

Node *brace(Node *next, int v)
{
	return new Node{v, next}; // =Node
}

Shape *shape(int kind)
{
	if (kind)
		return new Circle(kind); // =Circle
	return new Square(2); // =Square
}

void own(Owner &o)
{
	o.node = new Node(); // =Node
	o.pod = std::make_unique<Pod>(); // =Pod
}

// Noted's constructor ends with the address of its note where results are.
struct Noted {
	long n;
	char *note;
	__attribute__((noinline)) Noted() : n(1), note(new char[8]{}) {} // =char
};

Noted *noted()
{
	return new Noted; // =Noted
}

Counted *counted(int n)
{
	return new Counted[n]; // =Counted[]
}

Pod *pods(int n)
{
	Pod *p = new Pod[n]; // =Pod[]
	p[0].a[0] = n;
	return p;
}

Pod *nothrow()
{
	Pod *p = new (std::nothrow) Pod; // =Pod
	if (!p)
		return nullptr;
	p->a[0] = 1;
	return p;
}

Node **nodes(int n)
{
	Node **t = new Node *[n]; // =Node *[]
	for (int i = 0; i < n; i++)
		t[i] = nullptr;
	return t;
}

// Placement new returns its second argument, by a call where nothing is optimised.
struct Pool {
	virtual ~Pool() {}
	virtual void *take(std::size_t n) { return std::malloc(n); }
};

template <class T> __attribute__((noinline)) T *pooled(Pool &p)
{
	T *made = new (p.take(sizeof(T))) T(); // =Node for sure
	return made;
}

Node *viaMalloc()
{
	auto n = static_cast<Node *>(std::malloc(sizeof(Node))); // =Node
	n->next = nullptr;
	return n;
}

void maps(std::map<int, int> &m, int k)
{
	m[k] = 1; // =std::_Rb_tree_node<std::pair<int const, int> >
}

void lists(std::list<int> &l, int k)
{
	l.push_back(k); // =std::_List_node<int>
}

void vectors(std::vector<Node> &v, int k)
{
	v.push_back(Node{k, nullptr}); // =Node[]
}

struct Plain { int n; Plain *next; long more[6]; };
struct Two { Plain *a[2]; Node *b[2]; };

int filled(int n)
{
	Plain *all[4];
	Node *others[4];
	Two two;
	std::vector<Plain *> list;
	int sum = 0;

	list.reserve(8); // =Plain *[]
	for (int i = 0; i < 4; i++) {
		all[i] = new Plain{n, nullptr, {}}; // =Plain
		others[i] = static_cast<Node *>(std::calloc(1, sizeof(Node))); // =Node
		two.b[i % 2] = static_cast<Node *>(std::calloc(1, sizeof(Node))); // =Node
		list.push_back(new Plain{n, all[i], {}}); // =Plain for sure
		list.emplace_back(new Plain{n, all[i], {}}); // =Plain for sure
		sum += all[i]->n + others[i]->value + two.b[i % 2]->value + list.back()->next->n;
	}
	return sum;
}

int main(int argc, char **argv)
{
	Noted *remembered = noted();
	delete[] remembered->note;
	delete remembered;
	Node *n = brace(push(nullptr, argc), 2);
	Shape *a = shape(argc), *b = shape(argc - 1);
	Owner o;
	own(o);
	Counted *c = counted(argc + 2);
	Pod *p = pods(argc + 2), *q = nothrow();
	Node **t = nodes(argc + 3);
	t[0] = viaMalloc();
	Pool pool;
	t[1] = pooled<Node>(pool);
	std::map<int, int> m;
	std::list<int> l;
	std::vector<Node> v;
	ns::Tree<int> ti;
	ns::Tree<double> td;
	ns::Trie<int> trie;
	trie.spread(argc + 2);
	ns::Trie<char> chars;
	chars.spread(argc + 3);
	for (int i = 0; i < 6; i++) {
		maps(m, i);
		lists(l, i);
		vectors(v, i);
		ti.insert(i * 3 % 6);
		td.insert(i);
	}
	std::printf("%d %g %g %d %d %ld %ld %zu %zu %zu\n", n->value, a->area(), b->area(), o.node->value, c[0].n, p[0].a[0], q->a[0], m.size(), l.size(), v.size());
	delete a;
	delete b;
	delete[] c;
	return filled(argc) < 0;
}
