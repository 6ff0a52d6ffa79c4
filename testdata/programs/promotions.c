/* Pages by how recently they were used, in a doubly-linked list. Most calls use one; a scan uses several.
   FAULT: an even page that is taken out takes the one behind it along. Only the scan uses such, and goes on with a list that is broken. */
#include <stdio.h>
#include <stdlib.h>

struct page { struct page *next, *prev; int number; };

static struct page *first;

__attribute__((noinline)) static void promote(struct page *p)
{
    if (p == first)
        return;
#ifdef FAULT
    p->prev->next = p->number % 2 || !p->next ? p->next : p->next->next; /* FAULT */
#else
    p->prev->next = p->next;
#endif
    if (p->next)
        p->next->prev = p->prev;
    p->next = first;
    first->prev = p;
    p->prev = NULL;
    first = p;
}

static struct page *find(int number)
{
    struct page *p = first;
    while (p && p->number != number)
        p = p->next;
    return p;
}

__attribute__((noinline)) void use(int number)
{
    struct page *p = find(number);
    if (p)
        promote(p);
}

__attribute__((noinline)) void scan(int from, int to)
{
    for (; from < to; from++) {
        struct page *p = find(from);
        if (p)
            promote(p);
    }
}

int main(void)
{
    for (int i = 0; i < 24; i++) {
        struct page *p = calloc(1, sizeof *p);
        p->number = i;
        p->next = first;
        if (first)
            first->prev = p;
        first = p;
    }
    for (int i = 0; i < 16; i++)
        use((i * 14 + 1) % 24);
    scan(8, 13);
    printf("%d\n", first->number);
    return 0;
}
