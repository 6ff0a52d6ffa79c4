/*
 * A point quad tree, with the structure and the fault of figure 4.1 of Singh's
 * thesis. Build with -DFAULT for the faulty program; without, it is the correct
 * twin. Points are read from standard input, or made up if a count is given.
 */
#include <stdio.h>
#include <stdlib.h>

struct pt { int x, y; };
struct qdtree {
	int posX, posY, width, height;
	struct pt *point;
	struct qdtree *child[4];
};

static struct qdtree *root;

static struct pt *create_point(int x, int y)
{
	struct pt *p = malloc(sizeof *p);
	p->x = x;
	p->y = y;
	return p;
}

static void set_node_fields(struct qdtree *n, int i, const struct qdtree *parent)
{
	n->width = parent->width / 2;
	n->height = parent->height / 2;
	n->posX = parent->posX + (i & 1) * n->width;
	n->posY = parent->posY + (i >> 1) * n->height;
	n->point = NULL;
	for (int k = 0; k < 4; k++)
		n->child[k] = NULL;
}

static int quadrant(const struct qdtree *n, int x, int y)
{
	return (x >= n->posX + n->width / 2) + 2 * (y >= n->posY + n->height / 2);
}

/* The leaf whose square contains (x, y), and its parent. */
static struct qdtree *search(int x, int y, struct qdtree *n, struct qdtree **parent)
{
	*parent = NULL;
	while (n->child[0] || n->child[1] || n->child[2] || n->child[3]) {
		struct qdtree *next = n->child[quadrant(n, x, y)];
		if (next == NULL)
			break;
		*parent = n;
		n = next;
	}
	return n;
}

/* Gives the leaf four children and hands its point down to one of them. */
static void split(struct qdtree *node, struct qdtree *parent_node)
{
	struct pt *old = node->point;
	for (int i = 0; i < 4; i++) {
		struct qdtree *temp = malloc(sizeof *temp);
		set_node_fields(temp, i, node);
		node->child[i] = temp;
	}
	node->point = NULL;
	node->child[quadrant(node, old->x, old->y)]->point = old;
	if (parent_node && old->x == node->posX && old->y == node->posY) {
#ifdef FAULT
		parent_node->child[0] = NULL; /* FAULT */
#endif
	}
}

void insert(int x, int y)
{
	/* ##C-POINT(qdtree) */
	if (root == NULL) {
		root = malloc(sizeof *root);
		root->posX = root->posY = 0;
		root->width = root->height = 1024;
		for (int k = 0; k < 4; k++)
			root->child[k] = NULL;
		root->point = create_point(x, y);
		return;
	}
	struct qdtree *parent, *n = search(x, y, root, &parent);
	while (n->point != NULL) {
		if (n->point->x == x && n->point->y == y)
			return;
		if (n->width < 2)
			return;
		split(n, parent);
		n = search(x, y, n, &parent);
	}
	n->point = create_point(x, y);
}

int main(int argc, char **argv)
{
	int x, y, n = 0;
	if (argc > 1) {
		unsigned seed = 7;
		for (n = 0; n < atoi(argv[1]); n++) {
			seed = seed * 1103515245u + 12345u;
			x = seed >> 16 & 1023;
			seed = seed * 1103515245u + 12345u;
			y = seed >> 16 & 1023;
			insert(x, y);
		}
	} else {
		for (; scanf("%d%d", &x, &y) == 2; n++)
			insert(x, y);
	}
	printf("%d points\n", n);
	return 0;
}
