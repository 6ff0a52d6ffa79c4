/*
 * The program of figure 3.3 of the thesis, on an allocator of the kind that it has (Lea's):
 * chunks are cut off one large chunk; free ones are in a doubly-linked list by their
 * first two words, and have their length in the last word (a boundary tag); one that is freed
 * is joined with the free one in front of it. Which are free is kept aside. -DAPART does not
 * free the node in front of the last one: no two chunks become one.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <sys/mman.h>

#define CHUNKS 5
#define CHUNK 32 /* bytes */

struct chunk {
	struct chunk *next, *prev;
	long unused, length; /* in chunks */
};

static struct chunk list = { &list, &list, 0, 0 };
static struct chunk *base;
static char is_free[CHUNKS]; /* the chunk that ends there */

static void put(struct chunk *c, long length)
{
	c->next = list.next;
	c->prev = &list;
	list.next->prev = c;
	list.next = c;
	c[length - 1].length = length;
	is_free[c + length - 1 - base] = 1;
}

static void get(struct chunk *c, long length)
{
	c->prev->next = c->next;
	c->next->prev = c->prev;
	is_free[c + length - 1 - base] = 0;
}

__attribute__((noinline)) void *take(void)
{
	static long left = CHUNKS; /* of the large chunk */
	if (!left)
		return NULL;
	if (!base)
		base = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	left--;
	return base + (CHUNKS - 1 - left);
}

__attribute__((noinline)) void give(void *block)
{
	struct chunk *c = block;
	long length = 1;
	if (c > base && is_free[c - 1 - base]) {
		long before = ((long *)c)[-1]; /* its boundary tag */
		get(c - before, before);
		c -= before;
		length += before;
	}
	put(c, length);
}

struct snode {
	struct snode *next;
	long data[3];
};

int main(void)
{
	struct snode *tmp1 = take();
	struct snode *tmp2 = take();
	struct snode *tmp3 = take();
	struct snode *tmp4 = take();
	struct snode *tmp5 = take();
	tmp1->next = tmp2;
	tmp2->next = tmp3;
	tmp3->next = tmp4;
	tmp4->next = tmp5;
	tmp5->next = NULL;
	tmp1->next = tmp3;
	give(tmp2);
#ifndef APART
	give(tmp4);
#endif
	tmp1->next = tmp3;
	tmp3->next = NULL;
	give(tmp5);
	return 0;
}
