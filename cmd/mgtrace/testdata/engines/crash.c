/* Dies of a store through a wild pointer, deep in a structure. */
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; long value; };

__attribute__((noinline)) static void add(struct node *n, long v)
{
	while (n->next)
		n = n->next;
	n->next = calloc(1, sizeof(*n));
	n->next->value = v;
	if (v == 7)
		memcpy(&n->next->next, "wildwild", 8);
}

int main(void)
{
	struct node head = {0};
	for (long i = 0; i < 10; i++)
		add(&head, i);
	return 0;
}
