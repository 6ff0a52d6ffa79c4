/* A tree and a list that are built and never freed, with every field written: what an
 * allocator's user does is enough to find each block. */
#include <stdlib.h>
#include <unistd.h>

struct tree {
	long key;
	struct tree *left, *right;
};

struct list {
	struct list *next;
	struct tree *of;
};

static struct tree *root;
static struct list *all;

static struct tree *insert(struct tree *t, long key)
{
	if (!t) {
		t = malloc(sizeof *t);
		t->key = key;
		t->left = t->right = NULL;
		struct list *l = malloc(sizeof *l);
		l->next = all;
		l->of = t;
		all = l;
	} else if (key < t->key) {
		t->left = insert(t->left, key);
	} else {
		t->right = insert(t->right, key);
	}
	return t;
}

int main(void)
{
	long *keys = malloc(30 * sizeof *keys);
	for (int i = 0; i < 30; i++)
		keys[i] = (i * 17) % 30;
	for (int i = 0; i < 30; i++)
		root = insert(root, keys[i]);
	_exit(0);
}
