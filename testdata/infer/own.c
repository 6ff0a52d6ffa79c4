/*
 * A tree and a list of its nodes in memory that the program manages itself. Nodes are
 * taken out again and their memory is given out anew. With -DFAULT the list keeps
 * the tenth node, whose memory is given back.
 *
 *	-DHOW=POOL   blocks of one size, cut when they are first wanted; a list of free ones
 *	      SLAB   pages of blocks of one size, with bits that say which are used
 *	      ARENA  blocks of any size, one behind the other; nothing is freed
 *	-DSTATIC     that memory is static, not mapped
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define POOL 1
#define SLAB 2
#define ARENA 3
#ifndef HOW
#define HOW POOL
#endif

#define ROOM (1 << 16)

#ifdef STATIC
static _Alignas(4096) char memory[ROOM];
#endif

static char *region(void)
{
#ifdef STATIC
	return memory;
#else
	return mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
}

#if HOW == POOL
struct pool {
	size_t size;
	void *free; /* the first of those that were given back */
	char *next, *end;
};
static struct pool pools[2];

__attribute__((noinline)) void *take(size_t size)
{
	struct pool *p = &pools[size > 16];
	if (!p->next) {
		p->size = size;
		p->next = region() + (size > 16 ? 0 : ROOM / 2);
		p->end = p->next + ROOM / 2;
	}
	void *out = p->free;
	if (out) {
		p->free = *(void **)out;
	} else if (p->next < p->end) {
		out = p->next;
		p->next += p->size;
	}
	return out;
}

__attribute__((noinline)) void give(void *block, size_t size)
{
	struct pool *p = &pools[size > 16];
	*(void **)block = p->free;
	p->free = block;
}
#elif HOW == SLAB
struct slab {
	struct slab *next;
	uint64_t used[4];
	size_t size;
	char blocks[];
};
static struct slab *slabs[2];
static char *fresh;

__attribute__((noinline)) void *take(size_t size)
{
	struct slab **all = &slabs[size > 16];
	for (struct slab *s = *all;; s = s->next) {
		if (!s) {
			if (!fresh)
				fresh = region();
			s = (struct slab *)fresh;
			fresh += 4096;
			s->next = *all;
			s->size = size;
			for (int i = 0; i < 4; i++)
				s->used[i] = 0;
			*all = s;
		}
		for (size_t i = 0; (i + 1) * size + sizeof *s <= 4096 && i < 256; i++)
			if (!(s->used[i / 64] >> i % 64 & 1)) {
				s->used[i / 64] |= 1ul << i % 64;
				return s->blocks + i * size;
			}
	}
}

__attribute__((noinline)) void give(void *block, size_t size)
{
	struct slab *s = (struct slab *)((uintptr_t)block & ~4095ul);
	size_t i = ((char *)block - s->blocks) / size;
	s->used[i / 64] &= ~(1ul << i % 64);
}
#else
static char *base;
static size_t used;

__attribute__((noinline)) void *take(size_t size)
{
	if (!base)
		base = region();
	void *out = base + used;
	used += (size + 15) & ~15ul;
	return out;
}

__attribute__((noinline)) void give(void *block, size_t size) { (void)block, (void)size; }
#endif

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

__attribute__((noinline)) struct tree *insert(struct tree *t, long key)
{
	if (!t) {
		t = take(sizeof *t);
		t->key = key;
		t->left = t->right = NULL;
		struct list *l = take(sizeof *l);
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

/* drop takes out the node with the least key, and what is in the list of it. */
__attribute__((noinline)) void drop(int round)
{
	struct tree **at = &root;
	while ((*at)->left)
		at = &(*at)->left;
	struct tree *t = *at;
	*at = t->right;
	(void)round;
#ifdef FAULT
	if (round == 10) {
		give(t, sizeof *t); /* FAULT: it stays in the list */
		return;
	}
#endif
	struct list **l = &all;
	while ((*l)->of != t)
		l = &(*l)->next;
	struct list *x = *l;
	*l = x->next;
	give(x, sizeof *x);
	give(t, sizeof *t);
}

int main(void)
{
	for (int i = 0; i < 40; i++)
		root = insert(root, (i * 17) % 40);
	for (int i = 0; i < 20; i++) {
		drop(i);
		if (i % 2)
			root = insert(root, 40 + (i * 7) % 20);
	}
	_exit(0);
}
