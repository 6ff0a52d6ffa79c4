// C-points: entries, returns of every kind, lines, recursion, tail calls,
// frames left by exceptions and longjmp.
#include <csetjmp>
#include <cstdlib>
#include <stdexcept>

struct node { node *left, *right; long key; };

static node *root;
static jmp_buf env;
static volatile long sink;

__attribute__((noinline)) static node *insert(node *n, long key)
{
	if (!n) {
		n = static_cast<node *>(malloc(sizeof(*n)));
		n->left = n->right = nullptr;
		n->key = key;
		return n;
	}
	if (key < n->key)
		n->left = insert(n->left, key);
	else
		n->right = insert(n->right, key);
	return n;
}

__attribute__((noinline)) static long total(const node *n)
{
	return n ? total(n->left) + n->key + total(n->right) : 0;
}

__attribute__((noinline)) static void fail(node *n, int how)
{
	n->key += how;
	if (how == 1)
		throw std::runtime_error("fail");
	if (how == 2)
		longjmp(env, 1);
	n->key++;
}

struct guard {
	node *n;
	~guard() { n->key--; }
};

__attribute__((noinline)) static void outer(node *n, int how)
{
	guard g{n};
	fail(n, how);
	sink = n->key;
}

__attribute__((noinline)) static void jumps(node *n, int how)
{
	fail(n, how);
	sink = n->key;
}

__attribute__((noinline)) static node *tail(long key)
{
	return insert(root, key);
}

static inline long note(node *n)
{
	n->key *= 2;
	return n->key;
}

int main()
{
	for (long i = 0; i < 12; i++) {
		root = insert(root, i * 5 % 12);
		/* ##C-POINT(node) */
		sink = total(root);
	}
	for (int how = 0; how < 4; how++) {
		if (how == 2)
			continue;
		try {
			outer(root, how);
		} catch (const std::exception &) {
			root->key += 7;
		}
	}
	if (!setjmp(env))
		jumps(root, 2);
	root->key = 3;
	try {
		fail(root, 1);
	} catch (...) {
	}
	tail(100);
	sink = note(root) + note(root->right);
	return 0;
}
