/* Who changes nodes, and who only calls those that do. */
#include <stdlib.h>

struct node { int key; struct node *next; };
struct other { int n; };

static struct node *root;
static struct other count;

static struct node *fresh(int key)
{
	struct node *n = malloc(sizeof *n);
	n->key = key;
	n->next = NULL;
	return n;
}

static void link_first(struct node *n)
{
	n->next = root;
	root = n;
}

/* Changes nothing itself: what it calls in one place is a part of it. */
static void add(int key)
{
	struct node *n = fresh(key);
	link_first(n);
}

static void release(void *p)
{
	free(p);
}

/* A change, though it stores nothing: the node is freed. */
static void drop(struct node *n)
{
	root = n->next;
	release(n);
}

static int look(const struct node *n)
{
	int found = 0;
	for (; n; n = n->next)
		found += n->key;
	return found;
}

static void note(struct other *o)
{
	o->n++;
}

/* Called once, from main: a part of it. */
static void fill(void)
{
	struct node *last = fresh(0);
	last->key = 7;
	root = last;
	for (int i = 0; i < 9; i++)
		add(i);
}

/* Called once as well, but by itself too. */
static void more(int depth)
{
	if (depth > 0)
		more(depth - 1);
	struct node *n = root;
	n->key += depth;
}

/* One that never returns is watched as any other, and named by nobody. */
static void give_up(struct node *n)
{
	n->key = -1;
	abort();
}

int main(void)
{
	fill();
	if (look(root) < 0)
		give_up(root);
	if (look(root) == 1)
		give_up(root->next);
	more(3);
	for (int i = 0; i < 3; i++) {
		drop(root);
		note(&count);
	}
	add(4);
	return look(root) & 1;
}
