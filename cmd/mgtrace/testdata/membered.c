/* Nodes that enter wherever they lie: in blocks of a structure, behind pages of bytes, in a
 * buffer that was written a million times before, in static memory, in mapped memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct link { struct link *next, *prev; long key; };
struct job { char name[8]; struct link link; };

static struct link head = { &head, &head, 0 };
static struct link fixed;
static volatile long sink;

__attribute__((noinline)) void enqueue(long unused, struct link *l)
{
	l->next = head.next;
	l->prev = &head;
	head.next->prev = l;
	head.next = l;
}

__attribute__((noinline)) void dequeue(struct link *l)
{
	l->prev->next = l->next;
	l->next->prev = l->prev;
}

__attribute__((noinline)) void touch(unsigned char *b, int n, int times)
{
	for (int k = 0; k < times; k++)
		for (int i = 0; i < n; i++)
			b[i] += i + k;
	sink += b[0];
}

static struct link *place(unsigned char *at, long key)
{
	struct link *l = (struct link *)at;
	l->key = key;
	enqueue(key, l);
	return l;
}

int main(int argc, char **argv)
{
	int fault = argc > 1 ? atoi(argv[1]) : 0;
	struct link *of[80];
	unsigned char *page[80], *hot = malloc(1024), *other = malloc(2048), *grown = malloc(640);
	struct job *jobs[40];

	for (int i = 0; i < 40; i++) {
		jobs[i] = malloc(sizeof *jobs[i]);
		strcpy(jobs[i]->name, "job");
		jobs[i]->link.key = i;
		enqueue(i, &jobs[i]->link);
	}
	for (int round = 0; round < 8; round++) {	/* nothing of this matters, as is seen by and by */
		touch(hot, 1024, 60);
		touch(other, 2048, 30);
		touch(grown, 640, 90);
		free(malloc(16));
	}
	for (int i = 0; i < 80; i++) {
		page[i] = malloc(544);
		of[i] = place(page[i] + 512, 1000 + i);
		touch(page[i], 512, 24);
	}
	struct link *late = place(hot + 512, 2000);
	for (int i = 0; i < 30; i++) {	/* pages end, and begin again as others */
		dequeue(of[i]);
		free(page[i]);
		page[i] = malloc(544);
		touch(page[i], 512, 24);
		of[i] = place(page[i] + (i % 2 ? 512 : 64), 3000 + i);
	}
	grown = realloc(grown, 1280);
	place(grown + 1000, 4000);
	fixed.key = 5;
	enqueue(0, &fixed);
	place(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 6000);
	late->key++;
	if (fault == 1)
		of[3]->prev = of[5]; /* PAGE */
	if (fault == 2)
		late->key = -1; /* LATE */
	place(other + 256, 7000);
	printf("%ld\n", head.next->key * 0);
	return 0;
}
