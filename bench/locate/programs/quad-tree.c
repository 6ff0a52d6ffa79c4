/*
 * A point quad tree: a leaf holds one point at most, an inner node has four
 * children and counts the points below.
 */
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 1024 };

struct pt {
	int x, y;
};

struct qdtree {
	int posX, posY, width, height;
	int points;
	struct pt *point;
	struct qdtree *parent;
	struct qdtree *child[4];
};

static struct qdtree *root;

static void *allocate(size_t size)
{
	void *p = malloc(size);
	if (!p) {
		perror("malloc");
		exit(1);
	}
	return p;
}

static struct pt *create_point(int x, int y)
{
	struct pt *p = allocate(sizeof *p);
	p->x = x;
	p->y = y;
	return p;
}

static struct qdtree *create_node(struct qdtree *parent, int quadrant)
{
	struct qdtree *n = allocate(sizeof *n);
	if (parent) {
		n->width = parent->width / 2;
		n->height = parent->height / 2;
		n->posX = parent->posX + (quadrant & 1) * n->width;
		n->posY = parent->posY + (quadrant >> 1) * n->height;
	} else {
		n->width = SIDE;
		n->height = SIDE;
		n->posX = 0;
		n->posY = 0;
	}
	n->points = 0;
	n->point = NULL;
	n->parent = parent;
	for (int i = 0; i < 4; i++)
		n->child[i] = NULL;
	return n;
}

static int is_leaf(const struct qdtree *n)
{
	return n->child[0] == NULL;
}

static int quadrant(const struct qdtree *n, int x, int y)
{
	int right = x >= n->posX + n->width / 2;
	int low = y >= n->posY + n->height / 2;
	return right + 2 * low;
}

/* The leaf whose square the place lies in. */
static struct qdtree *search(struct qdtree *n, int x, int y)
{
	while (!is_leaf(n))
		n = n->child[quadrant(n, x, y)];
	return n;
}

/* Gives a leaf four children, and its point to one of them. */
static void split(struct qdtree *n)
{
	struct qdtree *heir;
	for (int i = 0; i < 4; i++)
		n->child[i] = create_node(n, i);
	heir = n->child[quadrant(n, n->point->x, n->point->y)];
	heir->point = n->point;
	heir->points = 1;
	n->point = NULL;
}

/* Counts up or down from a leaf to the root. */
static void count_up(struct qdtree *n, int by)
{
	for (; n; n = n->parent)
		n->points += by;
}

/* Takes the children of an inner node with a single point away. */
static void collapse(struct qdtree *n)
{
	for (int i = 0; i < 4; i++) {
		struct qdtree *c = n->child[i];
		if (c->point) {
			n->point = c->point;
			c->point = NULL;
		}
		n->child[i] = NULL;
		free(c);
	}
}

static int all_leaves(const struct qdtree *n)
{
	for (int i = 0; i < 4; i++)
		if (!is_leaf(n->child[i]))
			return 0;
	return 1;
}

static int insert_point(int x, int y)
{
	struct qdtree *n;
	if (!root)
		root = create_node(NULL, 0);
	n = search(root, x, y);
	while (n->point) {
		if (n->point->x == x && n->point->y == y)
			return 0;
		split(n);
		n = n->child[quadrant(n, x, y)];
	}
	n->point = create_point(x, y);
	count_up(n, 1);
	return 1;
}

static int delete_point(int x, int y)
{
	struct qdtree *n;
	if (!root)
		return 0;
	n = search(root, x, y);
	if (!n->point || n->point->x != x || n->point->y != y)
		return 0;
	free(n->point);
	n->point = NULL;
	count_up(n, -1);
	for (n = n->parent; n && n->points <= 1 && all_leaves(n); n = n->parent)
		collapse(n);
	return 1;
}

/* A point that moves a little stays in its leaf, if it can. */
static void move_point(int x, int y, int to_x, int to_y)
{
	struct qdtree *n;
	if (!root)
		return;
	n = search(root, x, y);
	if (!n->point || n->point->x != x || n->point->y != y)
		return;
	if (search(root, to_x, to_y) == n) {
		n->point->x = to_x;
		n->point->y = to_y;
	} else if (insert_point(to_x, to_y)) {
		delete_point(x, y);
	}
}

void quad_insert(int key)
{
	int x = key % SIDE, y = key / SIDE * 10;
	insert_point(x, y);
	if (key % 10 == 0 && y + 1 < SIDE) {
		move_point(x, y, x, y + 1);
		move_point(x, y + 1, x, y);
	}
}

void quad_delete(int key)
{
	delete_point(key % SIDE, key / SIDE * 10);
}

/* The judge's own view. Returns the points below n, -1 if something is wrong. */
static int check_below(const struct qdtree *n, const struct qdtree *parent, int depth)
{
	int sum = 0;
	if (!n || n->parent != parent || depth > 16)
		return -1;
	if (!n->child[0] && !n->child[1] && !n->child[2] && !n->child[3]) {
		if (n->point) {
			int x = n->point->x - n->posX, y = n->point->y - n->posY;
			if (x < 0 || y < 0 || x >= n->width || y >= n->height)
				return -1;
		}
		return n->points == (n->point != NULL) ? n->points : -1;
	}
	if (n->point)
		return -1;
	for (int i = 0; i < 4; i++) {
		int below = check_below(n->child[i], n, depth + 1);
		if (below < 0)
			return -1;
		if (n->child[i]->width != n->width / 2 || n->child[i]->height != n->height / 2)
			return -1;
		if (n->child[i]->posX != n->posX + (i & 1) * n->width / 2 || n->child[i]->posY != n->posY + (i >> 1) * n->height / 2)
			return -1;
		sum += below;
	}
	return sum == n->points ? sum : -1;
}

int quad_check(void)
{
	return !root || check_below(root, NULL, 0) >= 0;
}

#define INSERT quad_insert
#define DELETE quad_delete
#define CHECK quad_check
#include "workload.h"
