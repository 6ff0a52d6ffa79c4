/* A roll of guests in the order of their numbers, which are counted; more than an experiment would copy.
   FAULT: a guest who comes again takes the place of the next one too, who is lost. The count is right by then. */
#include <stdio.h>
#include <stdlib.h>

struct guest { int number; struct guest *next; };
struct roll { int count; struct guest *first; };

static struct roll *roll;

__attribute__((noinline)) void admit(struct roll *r, int number)
{
    struct guest *g = malloc(sizeof *g), *before = NULL, *at = r->first;
    while (at && at->number < number) {
        before = at;
        at = at->next;
    }
    g->number = number;
    g->next = at;
#ifdef FAULT
    if (at && at->number == number) /* FAULT */
        g->next = at->next; /* FAULT */
#endif
    if (before)
        before->next = g;
    else
        r->first = g;
    r->count++;
}

int main(void)
{
    roll = calloc(1, sizeof *roll);
    for (int i = 0; i < 320; i++)
        admit(roll, i * 7 % 331);
    admit(roll, 70);
    printf("%d\n", roll->count);
    return 0;
}
