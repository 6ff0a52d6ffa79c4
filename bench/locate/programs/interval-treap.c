/* Intervals in a treap; each node knows the highest end below it. */
#include <stdlib.h>

struct inode {
	int lo, hi, max;
	unsigned prio;
	struct inode *left, *right, *up;
};

static struct inode *root;
static int count;

static int maxof(struct inode *n) { return n ? n->max : -1; }

static void update(struct inode *n)
{
	int m = n->hi;
	if (maxof(n->left) > m) m = n->left->max;
	if (maxof(n->right) > m) m = n->right->max;
	n->max = m;
}

static void replace(struct inode *old, struct inode *new)
{
	if (!old->up)
		root = new;
	else if (old->up->left == old)
		old->up->left = new;
	else
		old->up->right = new;
	if (new)
		new->up = old->up;
}

static void rotate_right(struct inode *n)
{
	struct inode *l = n->left;
	replace(n, l);
	n->left = l->right;
	if (l->right)
		l->right->up = n;
	l->right = n;
	n->up = l;
	update(n);
	update(l);
}

static void rotate_left(struct inode *n)
{
	struct inode *r = n->right;
	replace(n, r);
	n->right = r->left;
	if (r->left)
		r->left->up = n;
	r->left = n;
	n->up = r;
	update(n);
	update(r);
}

static void fix_up(struct inode *n)
{
	for (; n; n = n->up)
		update(n);
}

struct inode *interval_insert(int lo, int hi, unsigned prio)
{
	struct inode *n = malloc(sizeof *n), *p = root;
	n->lo = lo;
	n->hi = hi;
	n->max = hi;
	n->prio = prio;
	n->left = n->right = n->up = NULL;
	count++;
	if (!p) {
		root = n;
		return n;
	}
	for (;;) {
		struct inode **to = lo < p->lo ? &p->left : &p->right;
		if (!*to) {
			*to = n;
			n->up = p;
			break;
		}
		p = *to;
	}
	fix_up(p);
	while (n->up && n->up->prio > n->prio) {
		if (n->up->left == n)
			rotate_right(n->up);
		else
			rotate_left(n->up);
	}
	return n;
}

void interval_remove(struct inode *n)
{
	struct inode *p;
	while (n->left && n->right) {
		if (n->left->prio < n->right->prio)
			rotate_right(n);
		else
			rotate_left(n);
	}
	p = n->up;
	replace(n, n->left ? n->left : n->right);
	fix_up(p);
	free(n);
	count--;
}

void interval_grow(struct inode *n, int hi)
{
	n->hi = hi;
	fix_up(n);
}

static void add(int key)
{
	unsigned p = (unsigned)key * 2654435761u;
	interval_insert(key, key + 1 + key % 100, p ^ p >> 13);
}

/* Every fourth interval grows before it goes. */
static void drop(int key)
{
	struct inode *n = root;
	while (n && n->lo != key)
		n = key < n->lo ? n->left : n->right;
	if (!n)
		return;
	if (key % 4 == 0)
		interval_grow(n, n->hi + 300);
	interval_remove(n);
}

/* The judge's own view: the number of nodes, -1 if something is wrong. */
static int check_below(const struct inode *n, const struct inode *up, int depth)
{
	int l, r, max;
	if (!n)
		return 0;
	if (depth > 5000 || n->up != up || (up && n->prio < up->prio))
		return -1;
	if ((n->left && n->left->lo > n->lo) || (n->right && n->right->lo < n->lo))
		return -1;
	max = n->hi > maxof(n->left) ? n->hi : maxof(n->left);
	if (n->max != (max > maxof(n->right) ? max : maxof(n->right)))
		return -1;
	l = check_below(n->left, n, depth + 1);
	r = check_below(n->right, n, depth + 1);
	return l < 0 || r < 0 ? -1 : l + r + 1;
}

static int workload_size(void);

int interval_check(void)
{
	return check_below(root, NULL, 0) == count && count == workload_size();
}

#define INSERT add
#define DELETE drop
#define CHECK interval_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
