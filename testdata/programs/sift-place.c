/* Jobs in a heap, each at the place that it names.
   FAULT: where the parent of a place lies is computed wrongly. The comparison and the stores are right. */
#include <stdio.h>
#include <stdlib.h>

struct job { int due; int pos; };
struct heap { int used; struct job *slot[64]; };

static struct heap *heap;

static void put(struct heap *h, int i, struct job *j)
{
    h->slot[i] = j;
    j->pos = i;
}

static void sift_up(struct heap *h, int i)
{
    struct job *j = h->slot[i];
    while (i > 0) {
#ifdef FAULT
        int parent = i / 2; /* FAULT */
#else
        int parent = (i - 1) / 2;
#endif
        if (h->slot[parent]->due <= j->due)
            break;
        put(h, i, h->slot[parent]);
        i = parent;
    }
    put(h, i, j);
}

__attribute__((noinline)) void submit(struct heap *h, int due)
{
    struct job *j = malloc(sizeof *j);
    j->due = due;
    put(h, h->used, j);
    h->used++;
    sift_up(h, h->used - 1);
}

int main(void)
{
    unsigned seed = 3;
    heap = calloc(1, sizeof *heap);
    for (int i = 0; i < 40; i++) {
        seed = seed * 1103515245u + 12345u;
        submit(heap, seed >> 16 & 1023);
    }
    printf("%d\n", heap->slot[0]->due);
    return 0;
}
