// Two inlined functions that end alike: gcc keeps one store for both.
#include <stdlib.h>

struct node { struct node *next; long key; };
static struct node *root;

__attribute__((noinline)) static struct node *put(struct node *n, long key)
{
	struct node *f = malloc(sizeof *f);

	f->next = n;
	f->key = key;
	return f;
}

__attribute__((noinline)) static struct node *take(struct node *n)
{
	struct node *next = n->next;

	free(n);
	return next;
}

static void insert(long key)
{
	root = put(root, key);
}

static void delete(void)
{
	root = take(root);
}

int main(int argc, char **argv)
{
	for (long i = 0; i < 100; i++) {
		if (!root || i % 3)
			insert(i);
		else
			delete();
	}
	return root == NULL;
}
