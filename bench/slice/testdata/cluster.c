// Clusters points that come in a stream, as PARSEC's streamcluster does: again and
// again a point is tried as a centre, and opened if what the points near it gain is more
// than it costs. All threads work on each candidate, and meet at barriers: what one
// finds, the others need. Usage: cluster CANDIDATES [THREADS].
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 256, DIMENSIONS = 16, MAX = 64 };

static float point[POINTS][DIMENSIONS];
static int centre[POINTS]; // of each point
static float cost[POINTS]; // its distance from there
static double gained[MAX];
static int candidates, threads = 4, opened;
static pthread_barrier_t barrier;

static float distance(const float *a, const float *b)
{
	float d = 0;
	for (int i = 0; i < DIMENSIONS; i++)
		d += (a[i] - b[i]) * (a[i] - b[i]);
	return d;
}

static unsigned next(unsigned *seed) { return (*seed = *seed * 1103515245 + 12345) >> 16 & 0x7fff; }

static void *work(void *arg)
{
	long t = (long)arg;
	int from = t * POINTS / threads, to = (t + 1) * POINTS / threads;
	unsigned seed = 7;
	for (int n = 0; n < candidates; n++) {
		int c = next(&seed) % POINTS;
		double gain = 0;
		for (int i = from; i < to; i++) {
			float d = distance(point[i], point[c]);
			if (d < cost[i])
				gain += cost[i] - d;
		}
		gained[t] = gain;
		pthread_barrier_wait(&barrier);
		gain = -0.9;
		for (int i = 0; i < threads; i++)
			gain += gained[i];
		if (gain > 0)
			for (int i = from; i < to; i++) {
				float d = distance(point[i], point[c]);
				if (d < cost[i])
					cost[i] = d, centre[i] = c;
			}
		if (t == 0 && gain > 0)
			opened++;
		if (t == 0) // a point is replaced by the next one of the stream
			for (int i = 0; i < DIMENSIONS; i++)
				point[n % POINTS][i] = point[n % POINTS][i] * 0.5f + next(&seed) / 65536.0f;
		else
			for (int i = 0; i < DIMENSIONS; i++)
				next(&seed);
		if (from <= n % POINTS && n % POINTS < to)
			cost[n % POINTS] = distance(point[n % POINTS], point[centre[n % POINTS]]) + 0.1f;
		pthread_barrier_wait(&barrier);
	}
	return 0;
}

int main(int argc, char **argv)
{
	candidates = argc > 1 ? atoi(argv[1]) : 1;
	threads = argc > 2 ? atoi(argv[2]) : 4;
	unsigned seed = 1;
	for (int i = 0; i < POINTS; i++) {
		for (int k = 0; k < DIMENSIONS; k++)
			point[i][k] = next(&seed) / 32768.0f;
		cost[i] = distance(point[i], point[0]);
	}
	pthread_barrier_init(&barrier, 0, threads);
	pthread_t id[MAX];
	for (long t = 1; t < threads; t++)
		pthread_create(&id[t], 0, work, (void *)t);
	work(0);
	for (int t = 1; t < threads; t++)
		pthread_join(id[t], 0);
	double sum = 0;
	for (int i = 0; i < POINTS; i++)
		sum += cost[i];
	printf("%d centres, %f\n", opened, sum);
	return 0;
}
