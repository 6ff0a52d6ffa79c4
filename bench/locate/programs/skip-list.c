/* A skip list. */
#include <stdlib.h>

#define MAXLEVEL 8

typedef struct snode {
	int key;
	int height;
	struct snode *next[MAXLEVEL];
} snode;

typedef struct skiplist {
	snode *head;
	int level, size;
} skiplist;

static skiplist *set;
static unsigned seed = 4711;

static int coin(void)
{
	int h = 1;
	while (h < MAXLEVEL && (seed = seed * 1103515245 + 12345, seed >> 16 & 1))
		h++;
	return h;
}

static snode *make(int key, int height)
{
	snode *n = calloc(1, sizeof *n);
	n->key = key;
	n->height = height;
	return n;
}

skiplist *skip_new(void)
{
	skiplist *s = malloc(sizeof *s);
	s->head = make(-1, MAXLEVEL);
	s->level = 1;
	s->size = 0;
	return s;
}

static snode *search(skiplist *s, int key, snode **update)
{
	snode *x = s->head;
	for (int i = s->level - 1; i >= 0; i--) {
		while (x->next[i] && x->next[i]->key < key)
			x = x->next[i];
		update[i] = x;
	}
	return x->next[0];
}

void skip_insert(skiplist *s, int key)
{
	snode *update[MAXLEVEL];
	snode *x = search(s, key, update);
	if (x && x->key == key)
		return;
	int h = coin();
	if (h > s->level) {
		for (int i = s->level; i < h; i++)
			update[i] = s->head;
		s->level = h;
	}
	x = make(key, h);
	for (int i = 0; i < h; i++) {
		x->next[i] = update[i]->next[i];
		update[i]->next[i] = x;
	}
	s->size++;
}

void skip_remove(skiplist *s, int key)
{
	snode *update[MAXLEVEL];
	snode *x = search(s, key, update);
	if (!x || x->key != key)
		return;
	for (int i = 0; i < s->level; i++) {
		if (update[i]->next[i] != x)
			break;
		update[i]->next[i] = x->next[i];
	}
	free(x);
	while (s->level > 1 && !s->head->next[s->level - 1])
		s->level--;
	s->size--;
}

static void add(int key)
{
	if (!set)
		set = skip_new();
	skip_insert(set, key);
}

static void drop(int key)
{
	skip_remove(set, key);
}

static int workload_size(void);

/* The judge's own view. */
int skip_check(void)
{
	int i, n, below = 0;
	for (i = 0; i < MAXLEVEL; i++) {
		const snode *x = set->head;
		for (n = 0; x->next[i]; x = x->next[i], n++)
			if (x->next[i]->key <= x->key || x->next[i]->height <= i || n > workload_size())
				return 0;
		if (i == 0 ? n != workload_size() || n != set->size : n > below || (n > 0 && i >= set->level))
			return 0;
		below = n;
	}
	return 1;
}

#define INSERT add
#define DELETE drop
#define CHECK skip_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
