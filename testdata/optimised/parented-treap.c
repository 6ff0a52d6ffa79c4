/*
 * A treap with parent links, which is split and merged. Built by clang at -O2 its operations
 * are inlined into loops, and debug information names no entries: the lowest of their
 * addresses is that of a load taken out of the loop, or of the end.
 * FAULT: the sizes forget the right subtree.
 */
#include <stdio.h>
#include <stdlib.h>

#define SIDE(n) ((n)->up ? ((n)->up->kid[1] == (n)) : 0)
#define L 0
#define R 1

struct treap {
	unsigned prio;
	int key;
	int weight;            /* nodes of this subtree */
	struct treap *kid[2], *up;
};

struct treap *top;
static unsigned seed = 12345;

static unsigned rnd(void) { seed = seed * 1103515245u + 12345u; return (seed >> 8) & 0xffff; }
static int w(struct treap *t) { return t ? t->weight : 0; }

static struct treap *fix(struct treap *t)
{
#ifdef FAULT
	t->weight = w(t->kid[L]) + 1; /* FAULT */
#else
	t->weight = w(t->kid[L]) + w(t->kid[R]) + 1;
#endif
	if (t->kid[L])
		t->kid[L]->up = t;
	if (t->kid[R])
		t->kid[R]->up = t;
	return t;
}

static void split(struct treap *t, int key, struct treap **a, struct treap **b)
{
	if (!t) { *a = *b = NULL; return; }
	if (t->key < key) {
		split(t->kid[R], key, &t->kid[R], b);
		*a = fix(t);
	} else {
		split(t->kid[L], key, a, &t->kid[L]);
		*b = fix(t);
	}
}

static struct treap *merge(struct treap *a, struct treap *b)
{
	if (!a) return b;
	if (!b) return a;
	if (a->prio > b->prio) {
		a->kid[R] = merge(a->kid[R], b);
		return fix(a);
	}
	b->kid[L] = merge(a, b->kid[L]);
	return fix(b);
}

void put(int key)
{
	struct treap *a, *b, *m = malloc(sizeof *m);
	m->key = key; m->prio = rnd(); m->weight = 1;
	m->kid[L] = m->kid[R] = m->up = NULL;
	split(top, key, &a, &b);
	top = merge(merge(a, m), b);
	top->up = NULL;
}

int drop(int key)
{
	struct treap *t = top;
	while (t && t->key != key)
		t = t->kid[key > t->key];
	if (!t) return 0;
	struct treap *u = t->up, *m;
	int s = SIDE(t);
	m = merge(t->kid[L], t->kid[R]);
	if (m) m->up = u;
	if (u) {
		u->kid[s] = m;
		for (; u; u = u->up)
			u->weight--;
	} else
		top = m;
	free(t);
	return 1;
}

int main(void)
{
	int here = 0, i;
	for (i = 0; i < 150; i++) { put(rnd() % 4000 * 2 + 1); here++; }
	for (i = 0; i < 250; i++) {
		if (rnd() % 3) { put(rnd() % 4000); here++; }
		else here -= drop(rnd() % 4000);
	}
	printf("%d %d\n", here, top->weight);
	return 0;
}
