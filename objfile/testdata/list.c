#include <stdlib.h>
#include <string.h>
#include "list.h"

struct hidden {
	int depth;
	list *owner;
};

int total = 5;
static int calls;

static inline int scale(int n)
{
	int twice = n * 2;
	return twice + total;
}

static inline int bump(int n)
{
	calls++;
	return scale(n) + scale(n + 1);
}

struct item *push(list *l, int n, const char *name)
{
	static int serial;
	struct item *it = calloc(1, sizeof *it);
	if (!it)
		abort();
	it->number = bump(n);
	strncpy(it->name, name, sizeof it->name - 1);
	it->next = l->head;
	if (l->head)
		l->head->prev = it;
	l->head = it;
	serial++;
	if (!l->secret) {
		struct hidden *h = malloc(sizeof *h);
		h->owner = l;
		h->depth = serial;
		l->secret = h;
	}
	return it;
}

static __attribute__((noinline)) int deep(struct item *it, int n)
{
	volatile char room[64];
	room[n % 64] = (char)n;
	if (!it)
		return helper(n) + room[n % 64];
	return deep(it->next, n + (int)it->number) + 1 + room[0];
}

int walk(list *l)
{
	int sum = 0;
	for (struct item *it = l->head; it; it = it->next) {
		int here = scale((int)it->number);
		sum += here;
	}
	return sum + deep(l->head, 1);
}
