/* The text of an editor as a list of pieces of two buffers, with a cursor of its own. */
#include <stdlib.h>
#include <string.h>

typedef struct piece {
	int from;             /* 0: the file, 1: what was added */
	int start, length;
	struct piece *prev, *next;
} Piece;

typedef struct document {
	Piece *head, *tail;
	int length;
	int pieces;
	int added, room;
	char *buffer;         /* what was added */
	Piece *last;          /* the piece that was changed last */
	int last_at;          /* where that begins */
} Document;

static Document *doc;

Document *doc_open(int length)
{
	Document *d = malloc(sizeof(Document));
	Piece *p = malloc(sizeof(Piece));
	p->from = 0;
	p->start = 0;
	p->length = length;
	p->prev = p->next = NULL;
	d->head = d->tail = p;
	d->length = length;
	d->pieces = 1;
	d->added = 0;
	d->room = 16;
	d->buffer = malloc(d->room);
	d->last = NULL;
	d->last_at = 0;
	return d;
}

static Piece *piece_after(Document *d, Piece *at, int from, int start, int length)
{
	Piece *p = malloc(sizeof(Piece));
	p->from = from;
	p->start = start;
	p->length = length;
	p->prev = at;
	if (at) {
		p->next = at->next;
		at->next = p;
	} else {
		p->next = d->head;
		d->head = p;
	}
	if (p->next)
		p->next->prev = p;
	else
		d->tail = p;
	d->pieces++;
	return p;
}

static void piece_drop(Document *d, Piece *p)
{
	if (p->prev)
		p->prev->next = p->next;
	else
		d->head = p->next;
	if (p->next)
		p->next->prev = p->prev;
	else
		d->tail = p->prev;
	if (d->last == p)
		d->last = NULL;
	d->pieces--;
	free(p);
}

/* The piece that ends exactly at the place; a piece around it is split. */
static Piece *split_at(Document *d, int place)
{
	Piece *p = d->head;
	int begin = 0;
	if (d->last && d->last_at <= place) {
		p = d->last;
		begin = d->last_at;
	}
	if (place == begin)
		return p ? p->prev : NULL;
	while (p && begin + p->length < place) {
		begin += p->length;
		p = p->next;
	}
	if (begin + p->length > place) {
		int keep = place - begin;
		piece_after(d, p, p->from, p->start + keep, p->length - keep);
		p->length = keep;
	}
	return p;
}

static int remember(Document *d, const char *text, int n)
{
	int at = d->added;
	while (d->added + n > d->room) {
		d->room *= 2;
		d->buffer = realloc(d->buffer, d->room);
	}
	memcpy(d->buffer + at, text, n);
	d->added += n;
	return at;
}

void doc_insert(Document *d, int place, const char *text, int n)
{
	Piece *p = split_at(d, place);
	int at = remember(d, text, n);
	if (p && p->from == 1 && p->start + p->length == at) {
		p->length += n;
		d->last = p;
		d->last_at = place - (p->length - n);
	} else {
		d->last = piece_after(d, p, 1, at, n);
		d->last_at = place;
	}
	d->length += n;
}

void doc_erase(Document *d, int place, int n)
{
	Piece *p = split_at(d, place), *end = split_at(d, place + n);
	p = p ? p->next : d->head;
	while (end && p) {
		Piece *next = p->next;
		int last = p == end;
		piece_drop(d, p);
		p = next;
		if (last)
			break;
	}
	d->length -= n;
	if (d->last && d->last_at > place)
		d->last = NULL;
}

static void add(int key)
{
	char text[8] = "abcdefg";
	if (!doc)
		doc = doc_open(5000);
	doc_insert(doc, key % (doc->length + 1), text, key % 7 + 1);
}

static void drop(int key)
{
	int n = key % 5 + 1;
	if (doc->length > n)
		doc_erase(doc, key % (doc->length - n), n);
}

/* The judge's own view. */
int doc_check(void)
{
	const Piece *p, *before = NULL;
	int n = 0, length = 0;
	for (p = doc->head; p; before = p, p = p->next) {
		if (p->prev != before || ++n > doc->pieces || p->length <= 0 || p->start < 0)
			return 0;
		if (p->start + p->length > (p->from ? doc->added : 5000))
			return 0;
		if (p == doc->last && doc->last_at != length)
			return 0;
		length += p->length;
	}
	return doc->tail == before && n == doc->pieces && length == doc->length;
}

#define INSERT add
#define DELETE drop
#define CHECK doc_check
#include "workload.h"
