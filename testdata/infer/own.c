/*
 * A tree and a list of its nodes in memory that the program manages itself. Nodes are
 * taken out again and their memory is given out anew. With -DFAULT the list keeps
 * the tenth node, whose memory is given back.
 *
 *	-DHOW=HEAP   blocks of any size with a header each, which are joined when they are freed
 *	             (Kernighan and Ritchie, The C Programming Language, 8.7)
 *	      POOL   blocks of one size, cut when they are first wanted; a list of free ones
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
#define HEAP 4
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
#elif HOW == HEAP
struct header {
	struct header *next; /* free one, by address and in a circle */
	size_t size;         /* in headers, this one included */
};
static struct header first, *last;

__attribute__((noinline)) static void join(struct header *b)
{
	struct header *p = last;
	while (!(b > p && b < p->next) && !(p >= p->next && (b > p || b < p->next)))
		p = p->next;
	b->next = p->next;
	if (b + b->size == p->next) {
		b->size += p->next->size;
		b->next = p->next->next;
	}
	p->next = b;
	if (p + p->size == b) {
		p->size += b->size;
		p->next = b->next;
	}
	last = p;
}

__attribute__((noinline)) void *take(size_t size)
{
	size_t n = (size + sizeof(struct header) - 1) / sizeof(struct header) + 1;
	if (!last) {
		last = first.next = &first;
		struct header *h = (struct header *)region();
		h->size = ROOM / sizeof *h;
		join(h);
	}
	struct header *before = last, *p = before->next;
	for (; p->size < n; before = p, p = p->next)
		if (p == last)
			return NULL;
	if (p->size == n) {
		before->next = p->next;
	} else {
		p->size -= n;
		p += p->size;
		p->size = n;
	}
	last = before;
	return p + 1;
}

__attribute__((noinline)) void give(void *block, size_t size)
{
	(void)size;
	join((struct header *)block - 1);
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
