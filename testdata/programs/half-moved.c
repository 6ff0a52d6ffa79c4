/* Numbers in order, in a list of blocks of six. A block that is full gives its upper half to a new one.
   FAULT: the first number of the upper half is not moved. The count that is wrong then is counted rightly. */
#include <stdio.h>
#include <stdlib.h>

struct block { struct block *next; int used; int item[6]; };
struct numbers { struct block *first; int count; };

/* Compiled as it stands: gcc -O2 makes a copy of several words of the loop. */
__attribute__((noinline, optimize(0))) static void split(struct block *b)
{
    struct block *n = malloc(sizeof *n);
    int half = b->used / 2;
    n->used = 0;
#ifdef FAULT
    for (int i = half + 1; i < b->used; i++) /* FAULT */
#else
    for (int i = half; i < b->used; i++)
#endif
        n->item[n->used++] = b->item[i];
    b->used = half;
    n->next = b->next;
    b->next = n;
}

__attribute__((noinline)) void insert(struct numbers *s, int x)
{
    struct block *b = s->first;
    while (b->next && b->next->item[0] <= x)
        b = b->next;
    if (b->used == 6) {
        split(b);
        if (b->next->item[0] <= x)
            b = b->next;
    }
    int i = b->used;
    for (; i > 0 && b->item[i - 1] > x; i--)
        b->item[i] = b->item[i - 1];
    b->item[i] = x;
    b->used++;
    s->count++;
}

int main(void)
{
    unsigned seed = 5;
    struct numbers *s = malloc(sizeof *s);
    s->first = calloc(1, sizeof *s->first);
    s->count = 0;
    for (int i = 0; i < 30; i++) {
        seed = seed * 1103515245u + 12345u;
        insert(s, seed >> 16 & 1023);
    }
    printf("%d\n", s->count);
    return 0;
}
