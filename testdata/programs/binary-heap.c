/* spec: ../specs/binary-heap.cons */
/*
 * A binary heap in an array that grows: a queue of jobs by priority.
 * FAULT: raising a job's priority writes the new value where the old one
 * stands, and does not let it rise.
 */
#include <stdio.h>
#include <stdlib.h>

struct heap {
	int size, cap;
	int *item;
};

static void rise(struct heap *h, int i, int value)
{
	for (; i > 0 && value < h->item[(i - 1) / 2]; i = (i - 1) / 2)
		h->item[i] = h->item[(i - 1) / 2];
	h->item[i] = value;
}

static void push(struct heap *h, int value)
{
	if (h->size == h->cap) {
		h->cap *= 2;
		h->item = realloc(h->item, h->cap * sizeof *h->item);
	}
	rise(h, h->size++, value);
}

static int pop(struct heap *h)
{
	int least = h->item[0], value = h->item[--h->size], i = 0;
	for (int c = 1; c < h->size; c = 2 * i + 1) {
		if (c + 1 < h->size && h->item[c + 1] < h->item[c])
			c++;
		if (value <= h->item[c])
			break;
		h->item[i] = h->item[c];
		i = c;
	}
	h->item[i] = value;
	return least;
}

static void hurry(struct heap *h, int i, int value)
{
#ifdef FAULT
	h->item[i] = value; /* FAULT */
#else
	rise(h, i, value);
#endif
}

int main(void)
{
	struct heap *h = malloc(sizeof *h);
	h->size = 0;
	h->cap = 4;
	h->item = malloc(h->cap * sizeof *h->item);
	for (int i = 0; i < 20; i++)
		push(h, 100 + i * 37 % 101);
	int sum = 0;
	for (int i = 0; i < 5; i++)
		sum += pop(h);
	hurry(h, 9, 7);
	push(h, 150);
	printf("%d\n", sum);
	return 0;
}
