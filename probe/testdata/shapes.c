/* One function per thing that the planner must see. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; long key; int count; };
struct node *head;
long other;

__attribute__((noinline)) void plain(struct node *n, long v) { n->key = v; }
__attribute__((noinline)) void local(volatile long *p) { volatile long a = 1; a += *p; }
__attribute__((noinline)) void locked(struct node *n) { __atomic_fetch_add(&n->count, 1, __ATOMIC_SEQ_CST); plain(n, 2); }
__attribute__((noinline)) void global(struct node *n) { head = n; other = 5; }

__attribute__((noinline)) int two_exits(struct node *n)
{
	if (!n)
		return -1;
	plain(n, 3);
	return n->count;
}

__attribute__((noinline)) void tail(struct node *n) { n->count++; plain(n, 4); }

__attribute__((noinline)) int sw(int n, int *out)
{
	switch (n) {
	case 0: *out = 10; return 7;
	case 1: *out = 3; return 1;
	case 2: *out = 77; return 0;
	case 3: *out = -1; return 9;
	case 4: *out = 5; return 12;
	case 5: *out = 8; return 3;
	}
	return 2;
}

static inline __attribute__((always_inline)) void push(struct node *n)
{
	n->next = head;
	if (n->key > 7)
		n->count = 1;
	head = n;
}

__attribute__((noinline)) void inliner(struct node *n)
{
	push(n);
	/* ##C-POINT(node) */
	n->key++;
	two_exits(n);
}

__attribute__((noinline, noreturn)) void die(void) { for (;;) ; }

/* One that ends in a jump to what is no allocator by itself (-O2). */
__attribute__((noinline)) static void *carved(size_t size, size_t more)
{
	char *block = malloc(size + more);
	return block ? block + more : NULL;
}
__attribute__((noinline)) void *pool_carve(size_t size) { return carved(size, sizeof(struct node)); }

__attribute__((noinline)) void *pool_get(int unused, size_t size) { return malloc(size); }
__attribute__((noinline)) void pool_put(void *p) { free(p); }

int main(int argc, char **argv)
{
	struct node *n = pool_get(0, sizeof *n);
	int out;
	if (argc > 20)
		n = pool_carve(sizeof *n);
	memset(n, 0, sizeof *n);
	plain(n, 1); local(&n->key); locked(n); global(n); two_exits(n); tail(n); inliner(n);
	n->count = sw(argc, &out) + out;
	if (argc > 10)
		die();
	printf("%d\n", n->count);
	pool_put(n);
	return 0;
}
