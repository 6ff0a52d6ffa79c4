/* Guests in order of tickets, who are found by their seats, in an array in static memory that is not recorded. The order is a
   function that stands before what passes it.
   FAULT: for who draws again, and an earlier one, a place is looked for behind the old one. The comparison is wrong, and no store is. */
#include <stdio.h>
#include <stdlib.h>

struct guest { struct guest *next, *prev; unsigned ticket; };
struct row { struct guest *first; int used; };

static struct row row;
static struct guest *seat[24];

static int earlier(const struct guest *a, const struct guest *b) { return a->ticket < b->ticket; }

/* Puts a guest between two that follow one another, as far as there are such. */
static void link_between(struct guest *g, struct guest *before, struct guest *behind)
{
    g->prev = before;
    g->next = behind;
    if (before)
        before->next = g;
    else
        row.first = g;
    if (behind)
        behind->prev = g;
}

static void put(struct guest *g, struct guest *before, struct guest *at, int (*order)(const struct guest *, const struct guest *))
{
    while (at && order(at, g)) {
        before = at;
        at = at->next;
    }
    link_between(g, before, at);
}

__attribute__((noinline, noclone)) void arrive(int i, unsigned ticket)
{
    struct guest *g = malloc(sizeof *g);
    g->ticket = ticket;
    put(g, NULL, row.first, earlier);
    row.used++;
    seat[i] = g;
}

__attribute__((noinline, noclone)) void draw_again(int i, unsigned ticket)
{
    struct guest *g = seat[i];
    struct guest *before = g->prev, *behind = g->next;
    unsigned old = g->ticket;
    if (before)
        before->next = behind;
    else
        row.first = behind;
    if (behind)
        behind->prev = before;
    g->ticket = ticket;
#ifdef FAULT
    if (ticket < old) /* FAULT */
#else
    if (ticket > old)
#endif
        put(g, before, behind, earlier);
    else
        put(g, NULL, row.first, earlier);
}

int main(void)
{
    unsigned seed = 7;
    for (int i = 0; i < 84; i++) {
        seed = seed * 1103515245u + 12345u;
        if (i < 24)
            arrive(i, seed >> 16);
        else
            draw_again(i * 7 % 24, seed >> 16);
    }
    printf("%d guests, the first has %u\n", row.used, row.first->ticket);
    return 0;
}
