/* What is stored is read again, and a number that nobody knows is added; so is the time. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

volatile long cell[2], left[4] = { 1, 20, 300, 4000 };

__attribute__((noinline)) long stored(long a, long b)
{
    cell[0] = a;
    cell[1] = cell[0] + b;
    return cell[1] + rand() % 10 + 100 * (rand() % 10);
}

/* What only the kernel knows: in memory that is recorded, on the stack, and returned. */
__attribute__((noinline)) long timed(void)
{
    struct timespec own;
    struct timeval *there = (struct timeval *)cell;
    gettimeofday(there, NULL);
    clock_gettime(CLOCK_REALTIME, &own);
    return there->tv_sec + 10 * there->tv_usec + 100 * own.tv_sec + 1000 * own.tv_nsec + 10000 * time(NULL);
}

/* It reads the first twice, and writes what is between. */
__attribute__((noinline)) int marked(int *p)
{
    p[1] = p[0] != 0;
    return p[0] + p[1] + p[2];
}

/* A new block holds what lay there, and one that is cleared 0. */
__attribute__((noinline)) long reused(void)
{
    volatile long *p = malloc(16), *q = calloc(1, 16);
    p[0] = 5;
    return p[0] + p[1] + q[0] + q[1];
}

/* It goes along a chain, and copies a pointer that it does not follow. */
struct link { struct link *next, *other; long value; } chain[3] = { { &chain[1], &chain[2], 3 }, { &chain[2], 0, 5 }, { 0, 0, 7 } }, *copy;
__attribute__((noinline)) long summed(struct link *from)
{
    long sum = 0;
    copy = from->other;
    for (struct link *l = from; l; l = l->next)
        sum += l->value;
    return sum;
}

struct event { struct timeval at; time_t seen; } event;

__attribute__((noinline)) long due(long after)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    gettimeofday(&event.at, NULL);
    return now.tv_sec + after + time(&event.seen);
}

/* It reads what was recorded; and to a place of its own, or to the same place once more, if it is asked to. */
__attribute__((noinline)) long loaded(int more)
{
    long own;
    long read_by = read(0, (void *)&cell[0], 8) + fread((void *)&cell[1], 4, 2, stdin);
    if (more == 1)
        read_by += fread(&own, 8, 1, stdin);
    if (more == 2)
        read_by += read(0, (void *)&cell[0], 8);
    return cell[0] + cell[1] + read_by * 100;
}

int main(void) { return stored(1, 2) + timed() + due(3) + loaded(0); }
