/* An order book: price levels in a tree, at each a queue of orders in both directions, and a table of orders by number. */
#include <stddef.h>
#include <stdlib.h>

struct link {
	struct link *prev, *next;
};

struct level {
	long price;
	long volume;
	int norders;
	struct link queue;
	struct level *lower, *higher, *up;
};

struct order {
	int id;
	int quantity;
	struct level *level;
	struct link entry;
	struct order *chain;
};

struct book {
	struct level *root;
	int nlevels;
	int norders;
	struct order *table[256];
};

#define container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

static struct book *book;

static void link_init(struct link *l)
{
	l->prev = l;
	l->next = l;
}

static void link_append(struct link *head, struct link *l)
{
	l->prev = head->prev;
	l->next = head;
	head->prev->next = l;
	head->prev = l;
}

static void link_del(struct link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
}

static struct level *level_at(struct book *b, long price)
{
	struct level **p = &b->root, *up = NULL, *l;
	while ((l = *p)) {
		if (price == l->price)
			return l;
		up = l;
		p = price < l->price ? &l->lower : &l->higher;
	}
	l = malloc(sizeof *l);
	l->price = price;
	l->volume = 0;
	l->norders = 0;
	link_init(&l->queue);
	l->lower = l->higher = NULL;
	l->up = up;
	*p = l;
	b->nlevels++;
	return l;
}

static void replace(struct book *b, struct level *l, struct level *by)
{
	if (!l->up)
		b->root = by;
	else if (l->up->lower == l)
		l->up->lower = by;
	else
		l->up->higher = by;
	if (by)
		by->up = l->up;
}

static void level_drop(struct book *b, struct level *l)
{
	if (!l->lower) {
		replace(b, l, l->higher);
	} else if (!l->higher) {
		replace(b, l, l->lower);
	} else {
		struct level *m = l->higher;
		while (m->lower)
			m = m->lower;
		if (m->up != l) {
			replace(b, m, m->higher);
			m->higher = l->higher;
			m->higher->up = m;
		}
		replace(b, l, m);
		m->lower = l->lower;
		m->lower->up = m;
	}
	b->nlevels--;
	free(l);
}

static struct order **slot(struct book *b, int id)
{
	struct order **p = &b->table[id & 255];
	while (*p && (*p)->id != id)
		p = &(*p)->chain;
	return p;
}

struct order *order_add(struct book *b, int id, long price, int quantity)
{
	struct order **p = slot(b, id), *o;
	if (*p)
		return NULL;
	o = malloc(sizeof *o);
	o->id = id;
	o->quantity = quantity;
	o->chain = NULL;
	*p = o;
	o->level = level_at(b, price);
	link_append(&o->level->queue, &o->entry);
	o->level->norders++;
	o->level->volume += quantity;
	b->norders++;
	return o;
}

int order_cancel(struct book *b, int id)
{
	struct order **p = slot(b, id), *o = *p;
	struct level *l;
	if (!o)
		return 0;
	*p = o->chain;
	l = o->level;
	link_del(&o->entry);
	l->norders--;
	l->volume -= o->quantity;
	b->norders--;
	if (l->norders == 0)
		level_drop(b, l);
	free(o);
	return 1;
}

/* A smaller quantity keeps its place in the queue, a larger one goes to its end. */
void order_change(struct book *b, int id, int quantity)
{
	struct order *o = *slot(b, id);
	if (!o)
		return;
	o->level->volume += quantity - o->quantity;
	if (quantity > o->quantity) {
		link_del(&o->entry);
		link_append(&o->level->queue, &o->entry);
	}
	o->quantity = quantity;
}

static long price_of(int key)
{
	return 1000 + key * 7919L % 211;
}

static void add(int key)
{
	if (!book)
		book = calloc(1, sizeof *book);
	order_add(book, key, price_of(key), key % 90 + 10);
	if (key % 4 == 0)
		order_change(book, key, key % 70 + 20);
}

static void cancel(int key)
{
	order_cancel(book, key);
}

/* The judge's own view: orders at and below a level, -1 if something is wrong. */
static int check_level(const struct level *l, const struct level *up, long from, long to, int depth)
{
	const struct link *e;
	long volume = 0;
	int n = 0, lower, higher;
	if (!l)
		return 0;
	if (depth > 250 || l->up != up || l->price < from || l->price > to)
		return -1;
	for (e = l->queue.next; e != &l->queue; e = e->next) {
		const struct order *o = container_of(e, struct order, entry);
		if (e->next->prev != e || o->level != l || ++n > l->norders)
			return -1;
		volume += o->quantity;
	}
	if (l->queue.next->prev != &l->queue || n == 0 || n != l->norders || volume != l->volume)
		return -1;
	lower = check_level(l->lower, l, from, l->price - 1, depth + 1);
	higher = check_level(l->higher, l, l->price + 1, to, depth + 1);
	return lower < 0 || higher < 0 ? -1 : n + lower + higher;
}

static int check_levels(const struct level *l)
{
	return l ? 1 + check_levels(l->lower) + check_levels(l->higher) : 0;
}

int book_check(void)
{
	int i, n = 0;
	for (i = 0; i < 256; i++) {
		const struct order *o;
		for (o = book->table[i]; o; o = o->chain)
			if ((o->id & 255) != i || ++n > book->norders)
				return 0;
	}
	return n == book->norders && check_level(book->root, NULL, 0, 100000, 0) == n &&
	       check_levels(book->root) == book->nlevels;
}

#define INSERT add
#define DELETE cancel
#define CHECK book_check
#include "workload.h"
