/* gcc splits del_min behind its condition, and inlines what it has split off into it again. */
#include <stdlib.h>

struct node { struct node *l, *r; int key, depth; };

struct node *tree;

static void sink(struct node *n, int by)
{
	if (n) {
		n->depth += by;
		sink(n->l, by);
		sink(n->r, by);
	}
}

void del_min(void)
{
	struct node **at = &tree;
	if (!tree)
		return;
	while ((*at)->l)
		at = &(*at)->l;
	struct node *n = *at;
	*at = n->r;
	sink(n->r, -1);
	free(n);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 20 * argc; i++)
		if (argv[0][0] == i % 5)
			argv[0][1] = (char)i;
		else
			del_min();
	return 0;
}
