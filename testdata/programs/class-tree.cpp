// build: g++ -std=c++17
//
// Expressions: nodes of several classes, whose common base holds the links. One class has
// another base in front of it, so that its node lies in the middle of the object.
// FAULT: where a constant takes the place of an operation, it does not get its parent.
#include <cstdio>
#include <cstdlib>

struct Node {
	Node *parent = nullptr;
	Node *left = nullptr, *right = nullptr;
	virtual long value() const = 0;
	virtual ~Node() {
		delete left;
		delete right;
	}
};

struct Named {
	char name[16] = "";
	virtual ~Named() = default;
};

struct Constant : Node {
	long number;
	explicit Constant(long n) : number(n) {}
	long value() const override { return number; }
};

struct Variable : Named, Node {
	long number;
	explicit Variable(long n) : number(n) { std::snprintf(name, sizeof name, "v%ld", n); }
	long value() const override { return number; }
};

struct Operation : Node {
	char op;
	Operation(char o, Node *l, Node *r) : op(o) {
		left = l;
		right = r;
		l->parent = r->parent = this;
	}
	long value() const override {
		long a = left->value(), b = right->value();
		return op == '+' ? a + b : op == '-' ? a - b : a * b;
	}
};

static Node *root;

__attribute__((noinline)) static void build(int n) {
	Node *top = new Variable(1);
	for (int i = 2; i < n; i++) {
		Node *leaf = i % 3 ? static_cast<Node *>(new Constant(i)) : new Variable(i);
		top = i % 2 ? new Operation("+-*"[i % 3], top, leaf) : new Operation('+', leaf, top);
	}
	root = top;
}

__attribute__((noinline)) static void fold(Node *n) {
	if (!n->left || (n->left->left || n->right->left)) {
		if (n->left)
			fold(n->left->left ? n->left : n->right);
		return;
	}
	Node *c = new Constant(n->value());
	Node *up = n->parent;
	if (up)
		(up->left == n ? up->left : up->right) = c; // FAULT
	else
		root = c;
#ifdef FAULT
	if (c->value() < 20)
#endif
		c->parent = up;
	delete n;
}

int main() {
	build(24);
	for (int i = 0; i < 10; i++)
		fold(root);
	std::printf("%ld\n", root->value());
}
