// A doubly linked list: one call decides that its node is not linked back.
#include <stdlib.h>
struct node { struct node *next, *prev; int key; };
static struct node *head;
static void push(int key, int linked) {
  struct node *n = malloc(sizeof *n);
  n->key = key;
  n->next = head;
  n->prev = NULL;
  if (head && linked)
    head->prev = n;
  head = n;
}
int main(void) {
  for (int i = 0; i < 20; i++) {
    int linked = i != 13;
    push(i, linked);
  }
  return 0;
}
