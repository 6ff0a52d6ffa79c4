// What libearly computed before main, copied and looked at.
#include <stdio.h>
#include <stdlib.h>

struct table {
  int rows;
  int cells;
};

struct copy {
  int cells;
  int picked;
};

struct table *table(void);
int chosen(void);

int main(void) {
  struct copy *c = malloc(sizeof *c);
  c->cells = table()->cells;
  c->picked = chosen();
  printf("%d %d\n", c->cells, c->picked);
  return 0;
}
