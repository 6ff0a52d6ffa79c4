/* A heap of numbers by key, which knows where each of them lies. The compiler puts its functions into main.
   FAULT: what is to come sooner stays below. The comparison is wrong, and no store is. */
#include <stdio.h>
#include <stdlib.h>

#define MAX 64

typedef struct {
	int n;
	int *heap;	/* ids by rank */
	int *pos;	/* rank by id, -1: not in it */
	long *key;	/* by id */
} pq;

static pq *pq_new(int max)
{
	pq *q = malloc(sizeof(pq));
	q->n = 0;
	q->heap = malloc(max * sizeof(int));
	q->pos = malloc(max * sizeof(int));
	q->key = malloc(max * sizeof(long));
	for (int i = 0; i < max; i++) {
		q->heap[i] = -1;
		q->pos[i] = -1;
		q->key[i] = 0;
	}
	return q;
}

static void swap(pq *q, int i, int j)
{
	int a = q->heap[i], b = q->heap[j];
	q->heap[i] = b;
	q->heap[j] = a;
	q->pos[a] = j;
	q->pos[b] = i;
}

static void up(pq *q, int i)
{
	while (i > 0) {
		int p = (i - 1) / 2;
#ifdef FAULT
		if (q->key[q->heap[p]] >= q->key[q->heap[i]]) /* FAULT */
#else
		if (q->key[q->heap[p]] <= q->key[q->heap[i]])
#endif
			break;
		swap(q, i, p);
		i = p;
	}
}

static void down(pq *q, int i)
{
	for (;;) {
		int c = 2 * i + 1;
		if (c >= q->n)
			break;
		if (c + 1 < q->n && q->key[q->heap[c + 1]] < q->key[q->heap[c]])
			c++;
		if (q->key[q->heap[i]] <= q->key[q->heap[c]])
			break;
		swap(q, i, c);
		i = c;
	}
}

void pq_push(pq *q, int id, long key)
{
	q->key[id] = key;
	q->heap[q->n] = id;
	q->pos[id] = q->n;
	up(q, q->n++);
}

int pq_pop(pq *q)
{
	int id = q->heap[0];
	swap(q, 0, q->n - 1);
	q->n--;
	q->pos[id] = -1;
	down(q, 0);
	return id;
}

void pq_change(pq *q, int id, long key)
{
	long old = q->key[id];
	q->key[id] = key;
	if (key < old)
		up(q, q->pos[id]);
	else
		down(q, q->pos[id]);
}

void pq_remove(pq *q, int id)
{
	int i = q->pos[id];
	q->n--;
	if (i != q->n) {
		swap(q, i, q->n);
		up(q, i);
		down(q, q->pos[q->heap[i]]);
	}
	q->pos[id] = -1;
}

int main(void)
{
	pq *q = pq_new(MAX);
	srand(3);
	for (int i = 0; i < 800; i++) {
		int id = rand() % MAX;
		int op = rand() % 4;
		if (q->pos[id] < 0)
			pq_push(q, id, rand() % 1000);
		else if (op == 0)
			pq_remove(q, id);
		else if (op == 1)
			pq_pop(q);
		else
			pq_change(q, id, rand() % 1000);
	}
	printf("%d\n", q->n);
	return 0;
}
