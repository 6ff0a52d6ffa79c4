/* gcc -O2 takes the address of the root out of main's loop; debug information says that this is
   of the call that is inlined there, with the store of main behind it in the middle. */
#include <stdio.h>
#include <stdlib.h>

struct node { int key, size; struct node *left, *right; };
struct tree { long id; struct node *root; };

static inline void insert(struct tree *t, int key)
{
	struct node **at = &t->root;
	for (struct node *n = t->root; n; n = *at) {
		if (n->key == key)
			return;
		at = key < n->key ? &n->left : &n->right;
	}
	struct node *x = malloc(sizeof *x);
	x->key = key;
	x->size = 1;
	x->left = x->right = NULL;
	*at = x;
	for (struct node *n = t->root; n != x; n = key < n->key ? n->left : n->right)
		n->size++;
}

int main(void)
{
	struct tree *t = malloc(sizeof *t);
	t->id = 1;
	t->root = NULL;
	unsigned s = 1;
	for (int i = 0; i < 200; i++) {
		s = s * 69069 + 5;
		insert(t, (int)(s >> 23));
	}
	printf("%d\n", t->root->size);
	return 0;
}
