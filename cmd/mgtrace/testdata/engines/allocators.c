/* Every way of C to get, change and give back a block, refusals too. */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct node { struct node *next; long value; };

static struct node *head;

__attribute__((noinline)) static struct node *push(long value)
{
	struct node *n = malloc(sizeof(*n));
	n->next = head;
	n->value = value;
	return head = n;
}

__attribute__((noinline)) static long deep(int n)
{
	char pad[100];
	memset(pad, n, sizeof(pad));
	if (n == 0)
		return push(pad[0])->value;
	return deep(n - 1) + pad[n];
}

int main(void)
{
	void *volatile none = NULL;
	size_t volatile huge = SIZE_MAX / 2;
	uint64_t *p, *q;
	void *block = NULL;
	char *s;

	for (long i = 0; i < 5; i++)
		push(i);
	deep(20);
	p = calloc(3, 24);
	p[8] = 1;
	p = realloc(p, 4096);			/* moves or grows */
	p[511] = 2;
	p = realloc(p, 64);			/* shrinks in place */
	p = realloc(p, 1 << 20);		/* becomes a mapping */
	p[1000] = 3;
	p = realloc(p, 1 << 21);		/* mremap */
	p[200000] = 4;
	if (realloc(p, huge))
		return 1;
	p[0] = 5;
	p = realloc(p, 48);			/* back to the heap */
	q = realloc(none, 40);
	q[4] = (uintptr_t)p;
	q = reallocarray(q, 10, 8);
	q[9] = (uintptr_t)q;
	if (reallocarray(q, huge, 4) || calloc(huge, 4) || malloc(huge))
		return 2;
	free(p);
	p = aligned_alloc(256, 512);
	p[63] = (uintptr_t)head;
	free(p);
	p = memalign(64, 100);
	p[1] = 6;
	free(p);
	p = valloc(100);
	p[2] = 7;
	if (posix_memalign(&block, 128, 200) == 0)
		*(uint64_t **)block = p;
	if (posix_memalign(&block, 3, 200) == 0)
		return 3;
	free(block);
	s = strdup("duplicate");
	s[0] = 'D';
	free(s);
	s = strndup("bounded duplicate", 7);
	s[6] = 'x';
	wcsdup(L"wide")[1] = 'y';
	free(none);
	if (realloc(s, 0))			/* frees */
		return 4;
	while (head) {
		struct node *n = head;
		head = n->next;
		free(n);
	}
	free(q);
	p = malloc(300000);			/* a mapping of its own */
	p[37499] = 8;
	free(p);
	malloc_trim(0);
	return 0;
}
