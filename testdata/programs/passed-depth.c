/* Elements that know how deep they are.
   FAULT: the caller passes the parent's depth; the statement that stores it stores what it was passed. */
#include <stdio.h>
#include <stdlib.h>

struct element {
    int depth, kids;
    struct element *parent, *first, *next;
};

static struct element *root;

static __attribute__((noinline)) void set_depth(struct element *e, int depth)
{
    e->depth = depth;
}

static struct element *element(void)
{
    return calloc(1, sizeof(struct element));
}

__attribute__((noinline)) void append(struct element *to, struct element *e)
{
    e->parent = to;
    e->next = to->first;
    to->first = e;
    to->kids++;
#ifdef FAULT
    set_depth(e, to->depth); /* FAULT */
#else
    set_depth(e, to->depth + 1);
#endif
}

int main(void)
{
    struct element *e[24];
    unsigned seed = 7;
    root = element();
    for (int i = 0; i < 24; i++) {
        seed = seed * 1103515245u + 12345u;
        e[i] = element();
        append(i ? e[(seed >> 16) % i] : root, e[i]);
    }
    printf("%d\n", e[23]->depth);
    return 0;
}
