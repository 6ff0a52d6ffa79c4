/*
 * Sessions of a server that count what they send.
 * FAULT: a session that was closed gets its bytes counted all the same. No
 * specification: a write to freed memory is a fault by itself.
 */
#include <stdio.h>
#include <stdlib.h>

struct session {
	int id;
	long sent;
};

static struct session *table[8];

static void open_session(int id)
{
	struct session *s = malloc(sizeof *s);
	s->id = id;
	s->sent = 0;
	table[id] = s;
}

static long send(struct session *s, long bytes, int last)
{
	if (last) {
		table[s->id] = NULL;
#ifdef FAULT
		free(s);
#endif
	}
	s->sent += bytes; /* FAULT */
	long sent = s->sent;
#ifndef FAULT
	if (last)
		free(s);
#endif
	return sent;
}

int main(void)
{
	long sum = 0;
	for (int i = 0; i < 8; i++)
		open_session(i);
	for (int i = 0; i < 8; i++)
		sum += send(table[i], 100 * i, i == 5) > 0;
	printf("%d\n", sum > 0);
	return 0;
}
