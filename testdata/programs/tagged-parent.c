/* spec: ../specs/tagged-parent.cons */
/*
 * A red-black tree whose nodes keep their colour in the low bit of the parent's
 * address, in the way of Linux.
 * FAULT: a rotation sets the parent of the subtree that changes sides without
 * the colour, which turns red.
 */
#include <stdio.h>
#include <stdlib.h>

enum { RED, BLACK };

struct rbn {
	unsigned long parent;
	struct rbn *left, *right;
	int key;
};

static struct rbn *root;

static struct rbn *parent_of(const struct rbn *n) { return (struct rbn *)(n->parent & ~3ul); }
static int is_red(const struct rbn *n) { return n && (n->parent & 1) == RED; }
static void paint(struct rbn *n, unsigned long colour) { n->parent = (n->parent & ~3ul) | colour; }

static void set_parent(struct rbn *n, struct rbn *p)
{
	n->parent = (unsigned long)p | (n->parent & 3);
}

static void rotate(struct rbn *x, int to_left)
{
	struct rbn *p = parent_of(x), *y = to_left ? x->right : x->left;
	struct rbn *mid = to_left ? y->left : y->right;
	if (to_left)
		x->right = mid;
	else
		x->left = mid;
	if (mid) {
#ifdef FAULT
		mid->parent = (unsigned long)x; /* FAULT */
#else
		set_parent(mid, x);
#endif
	}
	set_parent(y, p);
	if (!p)
		root = y;
	else if (p->left == x)
		p->left = y;
	else
		p->right = y;
	if (to_left)
		y->left = x;
	else
		y->right = x;
	set_parent(x, y);
}

static void fix(struct rbn *n)
{
	struct rbn *p;
	while ((p = parent_of(n)) && is_red(p)) {
		struct rbn *g = parent_of(p);
		int left = p == g->left;
		struct rbn *uncle = left ? g->right : g->left;
		if (is_red(uncle)) {
			paint(p, BLACK);
			paint(uncle, BLACK);
			paint(g, RED);
			n = g;
			continue;
		}
		if (n == (left ? p->right : p->left)) {
			rotate(p, left);
			p = n;
		}
		paint(p, BLACK);
		paint(g, RED);
		rotate(g, !left);
		break;
	}
	paint(root, BLACK);
}

void rbn_insert(int key)
{
	struct rbn **at = &root, *p = NULL, *n = malloc(sizeof *n);
	while (*at) {
		p = *at;
		at = key < p->key ? &p->left : &p->right;
	}
	n->key = key;
	n->left = n->right = NULL;
	n->parent = (unsigned long)p | RED;
	*at = n;
	fix(n);
}

int main(void)
{
	for (int i = 0; i < 40; i++)
		rbn_insert(i);
	printf("%d\n", root->key);
	return 0;
}
