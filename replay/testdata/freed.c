/* Blocks that are used after they were freed, and such as are not. */
#include <stdlib.h>

struct node {
	long key;
	struct node *next;
};

static struct node *kept;

long early(long n)
{
	struct node *p = malloc(sizeof *p);
	p->key = n;
	free(p);
	return p->key; /* by the address that it had */
}

long in_time(long n)
{
	struct node *p = malloc(sizeof *p);
	long key;
	p->key = n;
	key = p->key;
	free(p);
	return key;
}

long led_to(long n)
{
	struct node *p = malloc(sizeof *p);
	p->key = n;
	kept = p;
	free(p);
	return kept->key; /* something still leads there */
}

long again(long n)
{
	struct node *p = malloc(sizeof *p), *q;
	free(p);
	q = malloc(sizeof *q);
	q->key = n;
	return q->key;
}

int main(void)
{
	return (int)(in_time(1) + again(2)) + (early(1) == 0) + (led_to(2) == 0);
}
