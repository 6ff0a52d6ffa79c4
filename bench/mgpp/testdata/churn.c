/*
 * Makes about as many changes to its heap as its argument says: a treap that is
 * inserted into and deleted from, and a queue of jobs that is filled and emptied.
 */
#include <stdio.h>
#include <stdlib.h>

struct tree {
	unsigned key, prio;
	struct tree *left, *right;
	long count;
};

struct job {
	struct job *next;
	int kind, size;
};

struct queue {
	struct job *first, **last;
	long length;
};

static struct tree *root;
static struct queue queue = { NULL, &queue.first, 0 };
static unsigned seed = 1;
static long changes;

static unsigned rnd(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	return seed ^= seed << 5;
}

static struct tree *insert(struct tree *t, unsigned key)
{
	if (t == NULL) {
		t = malloc(sizeof *t);
		t->key = key;
		t->prio = rnd();
		t->left = t->right = NULL;
		t->count = 1;
		changes += 6;
	} else if (key < t->key) {
		struct tree *l = t->left = insert(t->left, key);
		changes++;
		if (l->prio > t->prio) {
			t->left = l->right;
			l->right = t;
			changes += 2;
			return l;
		}
	} else if (key > t->key) {
		struct tree *r = t->right = insert(t->right, key);
		changes++;
		if (r->prio > t->prio) {
			t->right = r->left;
			r->left = t;
			changes += 2;
			return r;
		}
	} else {
		t->count++;
		changes++;
	}
	return t;
}

static struct tree *join(struct tree *a, struct tree *b)
{
	if (a == NULL || b == NULL)
		return a ? a : b;
	changes++;
	if (a->prio > b->prio) {
		a->right = join(a->right, b);
		return a;
	}
	b->left = join(a, b->left);
	return b;
}

static struct tree *delete(struct tree *t, unsigned key)
{
	if (t == NULL)
		return NULL;
	if (key == t->key) {
		struct tree *rest = join(t->left, t->right);
		free(t);
		changes++;
		return rest;
	}
	changes++;
	if (key < t->key)
		t->left = delete(t->left, key);
	else
		t->right = delete(t->right, key);
	return t;
}

static void put(int kind)
{
	struct job *j = malloc(sizeof *j);
	j->next = NULL;
	j->kind = kind;
	j->size = rnd() % 100;
	*queue.last = j;
	queue.last = &j->next;
	queue.length++;
	changes += 7;
}

static void take(void)
{
	struct job *j = queue.first;
	if (j == NULL)
		return;
	queue.first = j->next;
	if (queue.first == NULL)
		queue.last = &queue.first;
	queue.length--;
	free(j);
	changes += 3;
}

int main(int argc, char **argv)
{
	long most = argc > 1 ? atol(argv[1]) : 1000000;
	unsigned range = argc > 2 ? atoi(argv[2]) : 100000;

	while (changes < most) {
		root = insert(root, rnd() % range);
		root = delete(root, rnd() % range);
		put(rnd() % 7);
		if (rnd() % 50)
			take();
	}
	printf("%ld jobs\n", queue.length);
	return 0;
}
