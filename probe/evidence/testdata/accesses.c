/* Accesses to objects through pointers whose types debug information knows, and through
 * some that tell nothing: void *, numbers. */
#include <stdint.h>

struct node {
	long key;
	struct node *next, *last;
};

__attribute__((noinline)) void link(struct node *n, long key, struct node *next)
{
	n->key = key;
	n->last = 0;
	n->next = next;
}

__attribute__((noinline)) void fill(uintptr_t at, void *value)
{
	*(void **)at = value;
}

__attribute__((noinline)) int walk(struct node *n)
{
	int count = 0;
	while (n) {
		n = n->next;
		count++;
	}
	return count;
}

int main(void)
{
	struct node a, b;
	link(&a, 1, &b);
	fill((uintptr_t)&b.next, 0);
	return walk(&a) - 2;
}
