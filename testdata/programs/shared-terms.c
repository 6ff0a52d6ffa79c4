/*
 * Terms that share their parts, each with the number of those who hold it. One with the
 * same part twice is not counted. Built with optimisation the test in release is inlined into
 * its callers, and into the rest of itself, which is called where nobody holds the term any more.
 */
#include <stdio.h>
#include <stdlib.h>

enum kind { NUMBER, SUM, PRODUCT };
struct term {
	enum kind kind;
	int holders;
	int number;
	struct term *left, *right;
	struct term *next; /* of those with the same hash */
};
struct terms {
	struct term *of[31];
	int count;
};
struct terms *terms;

static unsigned hash(enum kind kind, int number, struct term *left, struct term *right)
{
	return (kind * 7u + number * 13u + (left ? left->number * 5u + left->kind : 0) + (right ? right->number * 3u : 0)) % 31;
}

static struct term *hold(struct term *t)
{
	t->holders++;
	return t;
}

void release(struct term *t)
{
	if (!t || --t->holders)
		return;
	struct term **p = &terms->of[hash(t->kind, t->number, t->left, t->right)];
	while (*p != t)
		p = &(*p)->next;
	*p = t->next;
	terms->count--;
	release(t->left);
	release(t->right);
	free(t);
}

/* make takes over what is held of left and right. */
struct term *make(enum kind kind, int number, struct term *left, struct term *right)
{
	struct term **first = &terms->of[hash(kind, number, left, right)];
	for (struct term *t = *first; t; t = t->next)
		if (t->kind == kind && t->number == number && t->left == left && t->right == right) {
			hold(t);
			release(left);
			release(right);
			return t;
		}
	struct term *t = malloc(sizeof *t);
	t->kind = kind;
	t->holders = 1;
	t->number = number;
	t->left = left;
	t->right = right;
	t->next = *first;
	*first = t; /* FAULT */
#ifdef FAULT
	if (left != right || !left) /* FAULT */
#endif
		terms->count++;
	return t;
}

struct term *square(struct term *t)
{
	return make(PRODUCT, 0, t, hold(t));
}

static int value(struct term *t)
{
	switch (t->kind) {
	case SUM:
		return value(t->left) + value(t->right);
	case PRODUCT:
		return value(t->left) * value(t->right);
	default:
		return t->number;
	}
}

int main(void)
{
	int sum = 0;
	terms = calloc(1, sizeof *terms);
	for (int i = 0; i < 40; i++) {
		struct term *s = make(SUM, 0, make(NUMBER, i % 9, NULL, NULL), make(NUMBER, i % 7, NULL, NULL));
		if (i % 10 == 9)
			s = square(s);
		struct term *p = make(PRODUCT, 0, hold(s), make(NUMBER, i % 5, NULL, NULL));
		sum += value(s) + value(p);
		release(s);
		release(p);
	}
	printf("%d, %d left\n", sum, terms->count);
	return 0;
}
