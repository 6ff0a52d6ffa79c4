/* Numbers in a ring that grows: what lay before its head goes on behind what was its end.
   FAULT: the last of these is not moved. Nothing is wrong with any store, and the call has its block moved by realloc. */
#include <stdio.h>
#include <stdlib.h>

struct ring { int *item; int room, head, used; };

__attribute__((noinline)) void push(struct ring *r, int x)
{
    if (r->used == r->room) {
        int old = r->room;
        r->room *= 2;
        r->item = realloc(r->item, r->room * sizeof *r->item);
#ifdef FAULT
        for (int i = 0; i + 1 < r->head; i++) /* FAULT */
#else
        for (int i = 0; i < r->head; i++)
#endif
            r->item[old + i] = r->item[i];
    }
    r->item[(r->head + r->used) % r->room] = x;
    r->used++;
}

__attribute__((noinline)) int pop(struct ring *r)
{
    int x = r->item[r->head];
    r->head = (r->head + 1) % r->room;
    r->used--;
    return x;
}

int main(void)
{
    struct ring *r = malloc(sizeof *r);
    int next = 1, sum = 0;
    r->room = 8;
    r->head = r->used = 0;
    r->item = malloc(r->room * sizeof *r->item);
    for (int i = 0; i < 6; i++)
        push(r, next++);
    for (int i = 0; i < 5; i++)
        sum += pop(r);
    void *behind = malloc(64); /* so that the block can not grow where it is */
    for (int i = 0; i < 20; i++)
        push(r, next++);
    while (r->used > 0)
        sum += pop(r);
    printf("%d\n", sum);
    free(behind);
    return 0;
}
