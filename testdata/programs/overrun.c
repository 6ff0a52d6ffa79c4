/*
 * A list whose nodes hold names.
 * FAULT: a name is copied with the length of the buffer that it came from, and
 * overruns the node into its neighbour.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct entry *next;
	int len;
	char name[12];
};

static struct entry *head;

void entry_add(const char *name)
{
	struct entry *e = malloc(sizeof *e);
	e->next = head;
	e->len = 0;
	memset(e->name, 0, sizeof e->name);
	head = e;
	(void)name;
}

void entry_rename(struct entry *e, const char *buffer, size_t size)
{
#ifdef FAULT
	memcpy(e->name, buffer, size); /* FAULT */
	e->len = size;
#else
	size_t n = size < sizeof e->name ? size : sizeof e->name;
	memcpy(e->name, buffer, n);
	e->len = n;
#endif
}

int main(void)
{
	char buffer[64];
	for (int i = 0; i < 6; i++) {
		snprintf(buffer, sizeof buffer, "entry number %d", i);
		entry_add(buffer);
	}
	memset(buffer, 'x', sizeof buffer);
	entry_rename(head->next->next, buffer, 8);
	entry_rename(head->next->next->next, buffer, 40);
	int n = 0;
	for (struct entry *e = head; e && n < 100 && (unsigned long)e >> 48 == 0; e = e->next)
		n++;
	printf("%d\n", n > 0);
	return 0;
}
