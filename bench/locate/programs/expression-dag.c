/* Expressions that share what is equal: a table of all of them, and counts of references. */
#include <stdlib.h>
#include <string.h>

enum op { VAR, NEG, ADD, MUL };

struct expr {
	enum op op;
	int value;               /* VAR */
	int refs;
	int size;
	struct expr *a, *b;
	struct expr *bucket;     /* the next of the same hash */
};

struct slot {
	int key;
	struct expr *e;
	struct slot *next;
};

static struct {
	struct expr *buckets[128];
	int count;
	struct slot *slots;
} pool;

static unsigned hash_of(enum op op, int value, struct expr *a, struct expr *b)
{
	unsigned h = op * 31u + value;
	if (a)
		h = h * 131u + (unsigned)(a->size * 7 + a->op) + (unsigned)a->value;
	if (b)
		h = h * 137u + (unsigned)(b->size * 5 + b->op) + (unsigned)b->value;
	return h % 128;
}

struct expr *expr_ref(struct expr *e)
{
	e->refs++;
	return e;
}

void expr_unref(struct expr *e)
{
	struct expr **p;
	if (--e->refs > 0)
		return;
	p = &pool.buckets[hash_of(e->op, e->value, e->a, e->b)];
	while (*p != e)
		p = &(*p)->bucket;
	*p = e->bucket;
	pool.count--;
	if (e->a)
		expr_unref(e->a);
	if (e->b)
		expr_unref(e->b);
	free(e);
}

/* It takes its operands' references over, and gives one. */
static struct expr *make(enum op op, int value, struct expr *a, struct expr *b)
{
	unsigned h = hash_of(op, value, a, b);
	struct expr *e;
	for (e = pool.buckets[h]; e; e = e->bucket)
		if (e->op == op && e->value == value && e->a == a && e->b == b) {
			if (a)
				expr_unref(a);
			if (b)
				expr_unref(b);
			return expr_ref(e);
		}
	e = malloc(sizeof *e);
	e->op = op;
	e->value = value;
	e->refs = 1;
	e->a = a;
	e->b = b;
	e->size = 1 + (a ? a->size : 0) + (b ? b->size : 0);
	e->bucket = pool.buckets[h];
	pool.buckets[h] = e;
	pool.count++;
	return e;
}

static struct expr *build(int key)
{
	struct expr *e = make(VAR, key % 13, NULL, NULL);
	for (key /= 13; key; key /= 5)
		switch (key % 5) {
		case 0:
			e = make(NEG, 0, e, NULL);
			break;
		case 1:
		case 2:
			e = make(ADD, 0, e, make(VAR, key % 11, NULL, NULL));
			break;
		case 3:
			e = make(MUL, 0, make(VAR, key % 7, NULL, NULL), e);
			break;
		default:
			e = make(ADD, 0, e, expr_ref(e));
		}
	return e;
}

void store(int key)
{
	struct slot *s = malloc(sizeof *s);
	s->key = key;
	s->e = build(key);
	s->next = pool.slots;
	pool.slots = s;
}

void forget(int key)
{
	struct slot **p = &pool.slots, *s;
	while (*p && (*p)->key != key)
		p = &(*p)->next;
	s = *p;
	if (!s)
		return;
	*p = s->next;
	expr_unref(s->e);
	free(s);
}

/* The judge's own view. */
static int check_refs(const struct expr *e)
{
	int i, n = 0;
	const struct expr *x;
	const struct slot *s;
	for (s = pool.slots; s; s = s->next)
		n += s->e == e;
	for (i = 0; i < 128; i++)
		for (x = pool.buckets[i]; x; x = x->bucket)
			n += (x->a == e) + (x->b == e);
	return n == e->refs;
}

static int workload_turn;

int pool_check(void)
{
	int i, n = 0, slots = 0;
	const struct expr *e;
	const struct slot *s;
	for (s = pool.slots; s; s = s->next)
		if (++slots > 20000)
			return 0;
	for (i = 0; i < 128; i++)
		for (e = pool.buckets[i]; e; e = e->bucket) {
			if (++n > pool.count || hash_of(e->op, e->value, e->a, e->b) != (unsigned)i)
				return 0;
			if (e->size != 1 + (e->a ? e->a->size : 0) + (e->b ? e->b->size : 0))
				return 0;
			if ((e->op == VAR) != !e->a || (e->op == ADD || e->op == MUL) != !!e->b)
				return 0;
			if ((n + workload_turn) % 37 == 0 && !check_refs(e))
				return 0;
		}
	workload_turn++;
	return n == pool.count;
}

#define INSERT store
#define DELETE forget
#define CHECK pool_check
#include "workload.h"
