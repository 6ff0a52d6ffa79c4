/* A document: parts hang on one another in lists, with the way back, up, and to the last one.
   Its lines are read first; words are put into them afterwards, and have no line of their own.
   FAULT: a word that is taken out stays the one before its next. */
#include <stdio.h>
#include <stdlib.h>

struct part {
	struct part *next, *before, *up, *first, *last;
	void *text;
	int kind, from, to, column;
};

static struct part *part(int kind, int line, int column)
{
	struct part *p = calloc(1, sizeof *p);
	p->kind = kind;
	p->from = p->to = line;
	p->column = column;
	return p;
}

__attribute__((noinline)) void append(struct part *to, struct part *p)
{
	p->up = to;
	p->before = to->last;
	if (to->last)
		to->last->next = p;
	else
		to->first = p;
	to->last = p;
}

__attribute__((noinline)) void unlink_part(struct part *p)
{
	if (p->before)
		p->before->next = p->next; /* FAULT */
	else
		p->up->first = p->next;
#ifndef FAULT
	if (p->next)
		p->next->before = p->before;
#else
	if (p->next)
		;
#endif
	else
		p->up->last = p->before;
	p->up = p->next = p->before = NULL;
}

__attribute__((noinline)) struct part *read_line(struct part *in, int line)
{
	struct part *p = part(1 + line % 3, line, line / 2 + 1);
	append(in, p);
	for (; in; in = in->up)
		in->to = line;
	return line % 7 == 3 ? p : p->up;
}

__attribute__((noinline)) struct part *words_of(struct part *p)
{
	for (int i = 0; i < 3; i++)
		append(p, part(5 + i, 0, i));
	struct part *middle = p->first->next;
	if (p->first->kind != 5)
		return NULL;
	unlink_part(middle);
	return middle;
}

__attribute__((noinline)) void finish(struct part *p)
{
	struct part *next;
	for (; p; p = next) {
		next = p->next;
		if (p->first)
			finish(p->first);
		else if (p->kind < 4)
			free(words_of(p));
	}
}

int main(void)
{
	struct part *document = part(0, 1, 1), *in = document;
	for (int line = 1; line <= 60; line++)
		in = line % 11 == 10 ? document : read_line(in, line);
	finish(document);
	int n = 0;
	for (struct part *p = document->first; p; p = p->next)
		n += p->to;
	printf("%d\n", n);
	return 0;
}
