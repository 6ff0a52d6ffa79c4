/* The symbol table of a compiler: buckets of chains, in which inner scopes shadow outer ones.
   FAULT: a scope that is left takes its names out, and what they shadowed with them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NBUCKET 7

struct sym {
    char name[12];
    int depth;
    struct sym *shadow;     /* next in the bucket */
    struct sym *sibling;    /* next in the scope */
};

struct scope {
    struct scope *outer;
    struct sym *syms;
    int depth;
    int count;
};

struct table {
    struct sym *bucket[NBUCKET];
    struct scope *inner;
    int total;
};

static struct table *tab;

static unsigned hash(const char *s) { unsigned h = 0; while (*s) h = h * 31 + *s++; return h % NBUCKET; }

void enter_scope(void)
{
    struct scope *s = malloc(sizeof *s);
    s->outer = tab->inner;
    s->syms = NULL;
    s->count = 0;
    s->depth = tab->inner ? tab->inner->depth + 1 : 0;
    tab->inner = s;
}

struct sym *declare(const char *name)
{
    struct sym *y = malloc(sizeof *y);
    unsigned h = hash(name);
    strcpy(y->name, name);
    y->depth = tab->inner->depth;
    y->shadow = tab->bucket[h];
    tab->bucket[h] = y;
    y->sibling = tab->inner->syms;
    tab->inner->syms = y;
    tab->inner->count++;
    tab->total++;
    return y;
}

void leave_scope(void)
{
    struct scope *s = tab->inner;
    struct sym *y, *next;
    for (y = s->syms; y; y = next) {
        next = y->sibling;
#ifdef FAULT
        tab->bucket[hash(y->name)] = NULL; /* FAULT */
#else
        tab->bucket[hash(y->name)] = y->shadow;
#endif
        free(y);
        tab->total--;
    }
    tab->inner = s->outer;
    free(s);
}

int main(void)
{
    char name[12];
    tab = calloc(1, sizeof *tab);
    enter_scope();
    for (int r = 0; r < 6; r++) {
        for (int i = 0; i < 5; i++) {
            sprintf(name, "v%d", (r * 3 + i * 5) % 11);
            declare(name);
        }
        if (r % 3 == 2) { leave_scope(); leave_scope(); }
        enter_scope();
    }
    while (tab->inner) leave_scope();
    printf("%d\n", tab->total);
    return 0;
}
