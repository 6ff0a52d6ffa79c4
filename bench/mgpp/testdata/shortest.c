/* Shortest paths from one node of a random graph of 7,115 nodes and 103,689 edges (thesis,
 * table 3.1), kept as shards: the edges are in arrays by the interval of their target,
 * each sorted by its source, and the distances are relaxed shard by shard. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

enum { NODES = 7115, EDGES = 103689, SHARDS = 8 };

struct edge {
	int from, to, weight;
};

struct shard {
	struct edge *edges;
	int count, room;
};

static int order(const void *a, const void *b)
{
	return ((const struct edge *)a)->from - ((const struct edge *)b)->from;
}

int main(void)
{
	struct shard *shards = calloc(SHARDS, sizeof *shards);
	int *distance = malloc(NODES * sizeof *distance);
	srand(3);
	for (int i = 0; i < EDGES; i++) {
		struct edge e = {rand() % NODES, rand() % NODES, 1 + rand() % 100};
		struct shard *s = &shards[e.to * SHARDS / NODES];
		if (s->count == s->room) {
			s->room = s->room ? 2 * s->room : 64;
			s->edges = realloc(s->edges, s->room * sizeof *s->edges);
		}
		s->edges[s->count++] = e;
	}
	for (int k = 0; k < SHARDS; k++)
		qsort(shards[k].edges, shards[k].count, sizeof *shards[k].edges, order);
	for (int i = 0; i < NODES; i++)
		distance[i] = INT_MAX;
	distance[0] = 0;
	for (int changed = 1; changed;) {
		changed = 0;
		for (int k = 0; k < SHARDS; k++)
			for (struct edge *e = shards[k].edges; e < shards[k].edges + shards[k].count; e++)
				if (distance[e->from] != INT_MAX && distance[e->from] + e->weight < distance[e->to]) {
					distance[e->to] = distance[e->from] + e->weight;
					changed = 1;
				}
	}
	long sum = 0;
	for (int i = 0; i < NODES; i++)
		sum += distance[i] == INT_MAX ? 0 : distance[i];
	printf("%ld\n", sum);
	return 0;
}
