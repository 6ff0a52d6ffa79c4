/* A table whose buckets are entries themselves; what collides hangs behind in blocks of its own.
   FAULT: an entry that comes behind the first of its bucket is not counted. */
#include <stdio.h>
#include <stdlib.h>

struct entry { struct entry *next; int key; int used; };
struct table { struct entry *slots; int size, count; };

static struct table *create(int size)
{
    struct table *t = malloc(sizeof *t);
    t->size = size;
    t->count = 0;
    t->slots = calloc(size, sizeof(struct entry));
    return t;
}

__attribute__((noinline)) void put(struct table *t, int key)
{
    struct entry *at = &t->slots[key % t->size], *e;
    if (at->used) {
        for (e = at; e; e = e->next)
            if (e->key == key)
                return;
        e = malloc(sizeof *e);
        e->next = at->next;
        at->next = e;
    } else {
        e = at;
        e->next = NULL;
    }
    e->key = key;
    e->used = 1;
#ifdef FAULT
    if (e == at) /* FAULT */
#endif
    t->count++;
}

__attribute__((noinline)) void drop(struct table *t, int key)
{
    struct entry *at = &t->slots[key % t->size], *before = NULL, *e;
    if (!at->used)
        return;
    for (e = at; e && e->key != key; e = e->next)
        before = e;
    if (!e)
        return;
    if (before) {
        before->next = e->next;
        free(e);
    } else if (e->next) {
        struct entry *second = e->next;
        *e = *second;
        free(second);
    } else {
        e->used = 0;
    }
    t->count--;
}

int main(void)
{
    struct table *t = create(16);
    unsigned seed = 3;
    for (int i = 0; i < 150; i++) {
        seed = seed * 1103515245u + 12345u;
        if (i % 3)
            put(t, seed >> 16 & 63);
        else
            drop(t, seed >> 16 & 63);
    }
    printf("%d\n", t->count);
    return 0;
}
