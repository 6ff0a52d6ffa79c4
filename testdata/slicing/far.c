// A fault whose cause is far from the store that breaks the structure. The input
// says how many cells a page has; the number is wrong when it is parsed (FAULT), goes
// into the header, from there into the page, and at last lets add write behind the
// cells, where a node of the ring lies. See docs/slicing.md.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
  int rows, columns;
  int cells; // of a page
};

struct page {
  int room, used;
  int *cells;
};

struct node {
  struct node *next, *prev;
  int key;
};

struct table {
  struct header *header;
  struct page *page;
  struct node *ring;
};

static struct header *parse(const char *text) {
  struct header *h = malloc(sizeof *h);
  h->rows = atoi(text);
  h->columns = atoi(strchr(text, 'x') + 1);
#ifdef FAULT
  int rows = h->rows + 1; /* FAULT */
#else
  int rows = h->rows;
#endif
  h->cells = rows * h->columns;
  return h;
}

static struct page *new_page(const struct header *h) {
  struct page *p = malloc(sizeof *p);
  p->cells = malloc(h->rows * h->columns * sizeof *p->cells);
  p->room = h->cells;
  p->used = 0;
  return p;
}

static void link_node(struct table *t, int key) {
  struct node *n = malloc(sizeof *n);
  n->key = key;
  if (!t->ring) {
    t->ring = n->next = n->prev = n;
    return;
  }
  n->next = t->ring;
  n->prev = t->ring->prev;
  n->prev->next = n;
  t->ring->prev = n;
}

void add(struct table *t, int value) {
  struct page *p = t->page;
  if (p->used < p->room)
    p->cells[p->used++] = value;
  if (value % 4 == 0)
    link_node(t, value);
}

int main(int argc, char **argv) {
  struct table *t = calloc(1, sizeof *t);
  t->header = parse(argc > 1 ? argv[1] : "2x3");
  t->page = new_page(t->header);
  for (int i = 0; i < 10; i++)
    add(t, i);
  int sum = 0;
  for (int i = 0; i < t->page->used; i++)
    sum += t->page->cells[i];
  printf("%d\n", sum);
  return 0;
}
