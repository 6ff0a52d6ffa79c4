/*
 * A list of entries in ascending order of their keys, each key once, with the
 * number of entries beside it.
 */
#include <stdio.h>
#include <stdlib.h>

struct entry {
	int key;
	int value;
	struct entry *next;
};

struct list {
	struct entry *first;
	int length;
	int lowest; /* key, 0 if there is none */
};

static struct list *list;

static struct entry *new_entry(int key, int value)
{
	struct entry *e = malloc(sizeof *e);
	if (!e) {
		perror("malloc");
		exit(1);
	}
	e->key = key;
	e->value = value;
	e->next = NULL;
	return e;
}

static struct list *new_list(void)
{
	struct list *l = malloc(sizeof *l);
	if (!l) {
		perror("malloc");
		exit(1);
	}
	l->first = NULL;
	l->length = 0;
	l->lowest = 0;
	return l;
}

/* The last entry whose key is less, NULL if there is none. */
static struct entry *find_before(const struct list *l, int key)
{
	struct entry *before = NULL, *e = l->first;
	while (e && e->key < key) {
		before = e;
		e = e->next;
	}
	return before;
}

static void put_first(struct list *l, struct entry *e)
{
	e->next = l->first;
	l->first = e;
	l->lowest = e->key;
	l->length++;
}

static void put_behind(struct list *l, struct entry *at, struct entry *e)
{
	e->next = at->next;
	at->next = e;
	l->length++;
}

/* Takes the entry behind at out, or the first one if at is NULL. */
static struct entry *take_out(struct list *l, struct entry *at)
{
	struct entry *e;
	if (!at) {
		e = l->first;
		l->first = e->next;
		l->lowest = l->first ? l->first->key : 0;
	} else {
		e = at->next;
		at->next = e->next;
	}
	e->next = NULL;
	l->length--;
	return e;
}

/* Gives an entry another key, and with it another place. */
static void rename_entry(struct list *l, int from, int to)
{
	struct entry *at = find_before(l, from), *e;
	e = take_out(l, at);
	e->key = to;
	at = find_before(l, to);
	if (at)
		put_behind(l, at, e);
	else
		put_first(l, e);
}

void list_insert(int key)
{
	struct entry *at, *e;
	if (!list)
		list = new_list();
	at = find_before(list, key);
	e = at ? at->next : list->first;
	if (e && e->key == key) {
		e->value++;
		return;
	}
	if (key % 13 == 0) {
		/* comes in under a name that goes to the front at first */
		put_first(list, new_entry(0, key));
		rename_entry(list, 0, key);
		return;
	}
	e = new_entry(key, 2 * key);
	if (at)
		put_behind(list, at, e);
	else
		put_first(list, e);
}

void list_delete(int key)
{
	struct entry *at = find_before(list, key);
	struct entry *e = at ? at->next : list->first;
	if (!e || e->key != key)
		return;
	e = take_out(list, at);
	free(e);
}

/* The judge's own view. */
int list_check(void)
{
	int n = 0;
	if (!list)
		return 1;
	for (struct entry *e = list->first; e; e = e->next) {
		if (n++ > list->length)
			return 0;
		if (e->next && e->key >= e->next->key)
			return 0;
	}
	return n == list->length && list->lowest == (list->first ? list->first->key : 0);
}

#define INSERT list_insert
#define DELETE list_delete
#define CHECK list_check
#include "workload.h"
