/* Jobs in a heap that is loaded in order first; only after that a job that comes is moved to its place, as a flag
   in static memory says, which nobody has recorded.
   FAULT: a job goes up past those that are to be done before it. The comparison is wrong, and no store is. */
#include <stdio.h>
#include <stdlib.h>

struct job { int due; int pos; };
struct heap { int used; struct job *slot[64]; };

static struct heap *heap;
static int loaded;

static void put(struct heap *h, int i, struct job *j)
{
    h->slot[i] = j;
    j->pos = i;
}

static void sift_up(struct heap *h, int i)
{
    struct job *j = h->slot[i];
    while (i > 0) {
        int parent = (i - 1) / 2;
#ifdef FAULT
        if (h->slot[parent]->due >= j->due) /* FAULT */
#else
        if (h->slot[parent]->due <= j->due)
#endif
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
    if (loaded)
        sift_up(h, h->used - 1);
}

int main(void)
{
    unsigned seed = 3;
    heap = calloc(1, sizeof *heap);
    for (int i = 0; i < 40; i++) {
        seed = seed * 1103515245u + 12345u;
        loaded = i >= 20;
        submit(heap, loaded ? (int)(seed >> 16 & 1023) : 10 * i);
    }
    printf("%d\n", heap->slot[0]->due);
    return 0;
}
