// Ways to die, by the first argument; each has one line that is to blame. "none" lives.
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct node {
  struct node *next;
  int value;
};

static struct node *head;
static int limit = 3;
static int unrelated;
static char *name;

static void push(int value) {
  struct node *n = malloc(sizeof *n);
  n->value = value;
  n->next = head;
  head = n;
}

static int sum(void) {
  int s = 0;
  for (struct node *n = head; n; n = n->next)
    s += n->value;
  return s;
}

static int checked(int n) {
  assert(n < limit);
  return n;
}

int main(int argc, char **argv) {
  const char *way = argv[1];
  for (int i = 0; i < 4; i++)
    push(i);
  unrelated = argc + 7;
  if (!strcmp(way, "pointer"))
    head->next->next = (struct node *)(argc * 16L); // pointer
  if (!strcmp(way, "assertion"))
    limit = argc - 2; // assertion
  if (!strcmp(way, "library")) {
    name = (char *)(argc * 77L); // library
    unrelated += strlen(name);
  }
  if (!strcmp(way, "division")) {
    int parts = argc - 2; // division
    unrelated /= parts;
  }
  return checked(1) + sum() == 7 ? 0 : unrelated;
}
