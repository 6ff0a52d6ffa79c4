// Prices options with the formula of Black and Scholes, as PARSEC's blackscholes does:
// each thread its part of an array of options, again and again; no thread needs
// another's results. Usage: options ROUNDS [THREADS].
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPTIONS = 400, MAX = 64 };

static struct option {
	float spot, strike, rate, volatility, time;
	int put;
} options[OPTIONS];
static float prices[OPTIONS];
static int rounds, threads = 4;

// normal is the cumulative normal distribution (Abramowitz and Stegun, 26.2.17).
static float normal(float x)
{
	int negative = x < 0;
	if (negative)
		x = -x;
	float density = expf(-0.5f * x * x) * 0.39894228040143270286f;
	float k = 1 / (1 + 0.2316419f * x), power = k, sum = power * 0.319381530f;
	power *= k, sum += power * -0.356563782f;
	power *= k, sum += power * 1.781477937f;
	power *= k, sum += power * -1.821255978f;
	power *= k, sum += power * 1.330274429f;
	float tail = sum * density;
	return negative ? tail : 1 - tail;
}

static float price(const struct option *o)
{
	float root = sqrtf(o->time), sigma = o->volatility * root;
	float d1 = (logf(o->spot / o->strike) + (o->rate + o->volatility * o->volatility / 2) * o->time) / sigma;
	float d2 = d1 - sigma, later = o->strike * expf(-o->rate * o->time);
	if (o->put)
		return later * (1 - normal(d2)) - o->spot * (1 - normal(d1));
	return o->spot * normal(d1) - later * normal(d2);
}

static void *work(void *arg)
{
	long t = (long)arg;
	for (int r = 0; r < rounds; r++)
		for (int i = t * OPTIONS / threads; i < (t + 1) * OPTIONS / threads; i++)
			prices[i] = price(&options[i]);
	return 0;
}

int main(int argc, char **argv)
{
	rounds = argc > 1 ? atoi(argv[1]) : 1;
	threads = argc > 2 ? atoi(argv[2]) : 4;
	unsigned seed = 1;
	for (int i = 0; i < OPTIONS; i++) {
		float v[5];
		for (int k = 0; k < 5; k++)
			seed = seed * 1103515245 + 12345, v[k] = (seed >> 16 & 1023) / 1024.0f;
		options[i] = (struct option){50 + 50 * v[0], 50 + 50 * v[1], 0.1f * v[2], 0.1f + v[3], 0.1f + v[4], i & 1};
	}
	pthread_t id[MAX];
	for (long t = 1; t < threads; t++)
		pthread_create(&id[t], 0, work, (void *)t);
	work(0);
	for (int t = 1; t < threads; t++)
		pthread_join(id[t], 0);
	float sum = 0;
	for (int i = 0; i < OPTIONS; i++)
		sum += prices[i];
	printf("%f\n", sum);
	return 0;
}
