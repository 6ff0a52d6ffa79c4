/* A table of chains that hashes and compares by functions of its kind.
   FAULT: an entry behind the first of its chain is not taken out, if it is the last one there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry { struct entry *next; char name[8]; };
struct kind { unsigned (*hash)(const char *); int (*order)(const char *, const char *); void (*release)(void *); };
struct map { const struct kind *kind; int used; struct entry *chain[4]; };

static unsigned sum(const char *s)
{
    unsigned h = 0;
    while (*s)
        h = h * 31 + (unsigned char)*s++;
    return h;
}

static const struct kind names = {sum, strcmp, free};

__attribute__((noinline)) void put(struct map *m, const char *name)
{
    struct entry **at = &m->chain[m->kind->hash(name) % 4];
    for (struct entry *e = *at; e; e = e->next)
        if (m->kind->order(e->name, name) == 0)
            return;
    struct entry *e = malloc(sizeof *e);
    strcpy(e->name, name);
    e->next = *at;
    *at = e;
    m->used++;
}

__attribute__((noinline)) void drop(struct map *m, const char *name)
{
    struct entry **at = &m->chain[m->kind->hash(name) % 4], *before = NULL;
    for (struct entry *e = *at; e; before = e, e = e->next) {
        if (m->kind->order(e->name, name) != 0)
            continue;
#ifdef FAULT
        if (before && e->next) /* FAULT */
#else
        if (before)
#endif
            before->next = e->next;
        else
            *at = e->next;
        m->used--;
        m->kind->release(e);
        return;
    }
}

int main(void)
{
    static const char *const words[] = {"ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lark"};
    struct map *m = calloc(1, sizeof *m);
    m->kind = &names;
    unsigned seed = 5;
    for (int i = 0; i < 120; i++) {
        seed = seed * 1103515245u + 12345u;
        if (i % 3)
            put(m, words[(seed >> 16) % 12]);
        else
            drop(m, words[(seed >> 16) % 12]);
    }
    printf("%d\n", m->used);
    return 0;
}
