/* Timers in a binary heap of pointers that grows by realloc; each knows its index. The
   heap hangs off a global pointer, so that only `sizeof *H->t` tells the array's type.
   FAULT: on its way down a timer is moved over another without telling it. */
#include <stdio.h>
#include <stdlib.h>

struct timer {
	long due;
	int idx;
	void (*ring)(struct timer *);
	int rung;
};

struct heap {
	struct timer **t;
	int n, room;
};

static struct heap *H;

static void put(int i, struct timer *t)
{
	H->t[i] = t;
	t->idx = i;
}

static void up(int i)
{
	struct timer *t = H->t[i];
	for (; i && H->t[(i - 1) / 2]->due > t->due; i = (i - 1) / 2)
		put(i, H->t[(i - 1) / 2]);
	put(i, t);
}

static void down(int i)
{
	struct timer *t = H->t[i];
	for (int c; (c = 2 * i + 1) < H->n; i = c) {
		if (c + 1 < H->n && H->t[c + 1]->due < H->t[c]->due)
			c++;
		if (t->due <= H->t[c]->due)
			break;
#ifdef FAULT
		if (H->t[c]->due % 16 == 3)
			H->t[i] = H->t[c]; /* FAULT */
		else
#endif
			put(i, H->t[c]); /* FAULT */
	}
	put(i, t); /* FAULT */
}

__attribute__((noinline)) void start(struct timer *t)
{
	if (H->n == H->room) {
		H->room = H->room ? 2 * H->room : 4;
		H->t = realloc(H->t, H->room * sizeof *H->t);
	}
	H->t[H->n] = t;
	t->idx = H->n++;
	up(t->idx);
}

__attribute__((noinline)) void stop(struct timer *t)
{
	int i = t->idx;
	struct timer *last = H->t[--H->n];
	t->idx = -1;
	if (last == t)
		return;
	put(i, last);
	up(i);
	down(last->idx);
}

static void ring(struct timer *t) { t->rung++; }

int main(void)
{
	unsigned seed = 55;
	H = calloc(1, sizeof *H);
	for (int i = 0; i < 60; i++) {
		struct timer *t = malloc(sizeof *t);
		seed = seed * 1103515245u + 12345u;
		*t = (struct timer){.due = seed >> 8 & 1023, .idx = -1, .ring = ring};
		start(t);
	}
	long last = 0;
	int late = 0;
	while (H->n) {
		struct timer *t = H->t[0];
		stop(t);
		t->ring(t);
		late += t->due < last;
		last = t->due;
	}
	printf("%d late\n", late);
	return 0;
}
