// A library whose initial values are computed before main: by a constructor, from the
// environment, and by the resolver of an indirect function.
#include <stdlib.h>

struct table {
  int rows;
  int cells;
};

static int width = 4;
static int picked;
static int unrelated;
struct table *made;

static int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x; }

// Runs while the dynamic linker relocates: nothing else has run.
static int (*choose(void))(int) {
  picked = width > 3; // resolver
  return picked ? thrice : twice;
}

int scaled(int x) __attribute__((ifunc("choose")));

int chosen(void) { return picked; }

__attribute__((constructor)) static void begin(void) {
  const char *e = getenv("EARLY_WIDTH");
  if (e)
    width = atoi(e); // constructor
  unrelated = width + 1;
  made = malloc(sizeof *made);
  made->rows = 2;
  made->cells = scaled(made->rows) * width; // cells
}

struct table *table(void) { return made; }
