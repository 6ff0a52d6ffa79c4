/*
 * Traversal of a linked list, after Mozilla bug 588187 (thesis figure 2.1).
 * FAULT: an entry's next pointer is set to a value that is neither NULL nor an
 * entry; the program dies when it follows it, far from there.
 */
#include <stdio.h>
#include <stdlib.h>

struct snode {
	int value;
	struct snode *next;
};

static struct snode *push(struct snode *list, int value)
{
	struct snode *n = malloc(sizeof *n);
	n->value = value;
	n->next = list;
	return n;
}

static void cut(struct snode *n, long mark)
{
	(void)mark;
#ifdef FAULT
	n->next = (struct snode *)mark; /* FAULT */
#else
	n->next = NULL;
#endif
}

static int sum(const struct snode *n)
{
	int s = 0;
	for (; n; n = n->next)
		s += n->value;
	return s;
}

int main(void)
{
	struct snode *list = NULL;
	for (int i = 0; i < 50; i++)
		list = push(list, i);
	struct snode *n = list;
	for (int i = 0; i < 30; i++)
		n = n->next;
	cut(n, 0x1000);
	printf("%d\n", sum(list));
	return 0;
}
