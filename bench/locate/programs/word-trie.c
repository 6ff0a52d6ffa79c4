/* A trie of words of four letters, which counts the words below each node. */
#include <stdlib.h>
#include <string.h>

struct tnode {
	struct tnode *kid[4];
	struct tnode *parent;
	short nkids;
	short slot;
	int words;      /* words that end here or below */
	char end;
};

static struct tnode *dict;

static struct tnode *fresh(struct tnode *parent, int slot)
{
	struct tnode *t = malloc(sizeof *t);
	memset(t, 0, sizeof *t);
	t->parent = parent;
	t->slot = slot;
	if (parent) {
		parent->kid[slot] = t;
		parent->nkids++;
	}
	return t;
}

static struct tnode *lookup(const char *w)
{
	struct tnode *t = dict;
	for (; t && *w; w++)
		t = t->kid[*w - 'a'];
	return t;
}

void trie_add(const char *w)
{
	struct tnode *t = lookup(w);
	if (t && t->end)
		return;
	t = dict;
	t->words++;
	for (; *w; w++) {
		int c = *w - 'a';
		if (!t->kid[c])
			fresh(t, c);
		t = t->kid[c];
		t->words++;
	}
	t->end = 1;
}

void trie_del(const char *w)
{
	struct tnode *t = lookup(w), *p;
	if (!t || !t->end)
		return;
	t->end = 0;
	for (p = t; p; p = p->parent)
		p->words--;
	while (t->parent && t->nkids == 0 && !t->end) {
		p = t->parent;
		p->kid[t->slot] = NULL;
		p->nkids--;
		free(t);
		t = p;
	}
}

/* A key is spelled by its digits. */
static char *spell(int key, char *w)
{
	for (; key; key /= 4)
		*w++ = (char)('a' + key % 4);
	*w = 0;
	return w;
}

static void add(int key)
{
	char w[16];
	spell(key, w);
	if (!dict)
		dict = fresh(NULL, 0);
	trie_add(w);
}

static void drop(int key)
{
	char w[16];
	spell(key, w);
	trie_del(w);
}

/* The judge's own view: the number of words, -1 if something is wrong. */
static int check_below(const struct tnode *t, const struct tnode *parent, int slot, int depth)
{
	int i, kids = 0, words = t->end;
	if (depth > 20 || t->parent != parent || t->slot != slot)
		return -1;
	for (i = 0; i < 4; i++)
		if (t->kid[i]) {
			int below = check_below(t->kid[i], t, i, depth + 1);
			if (below < 1)
				return -1;
			words += below;
			kids++;
		}
	return kids == t->nkids && words == t->words ? words : -1;
}

static int workload_size(void);

int trie_check(void)
{
	return check_below(dict, NULL, 0, 0) == workload_size();
}

#define INSERT add
#define DELETE drop
#define CHECK trie_check
#include "workload.h"

static int workload_size(void)
{
	return workload_count;
}
