// A search tree whose nodes are pieces of chunks. With -DFAULT one node leads back to
// the root.
#include <stdlib.h>

struct tree {
  struct tree *left, *right;
  int key;
};

#define PIECES 100

static char *chunk;
static size_t used;
static struct tree *root;

static void *grab(void) {
  if (!chunk || used == PIECES * sizeof(struct tree)) {
    chunk = malloc(PIECES * sizeof(struct tree));
    used = 0;
  }
  void *piece = chunk + used;
  used += sizeof(struct tree);
  return piece;
}

static void insert(int key) {
  struct tree **at = &root;
  while (*at)
    at = key < (*at)->key ? &(*at)->left : &(*at)->right;
  struct tree *t = grab();
  t->left = t->right = NULL;
  t->key = key;
  *at = t;
#ifdef FAULT
  if (key == 37)
    t->right = root; /* FAULT */
#endif
}

int main(void) {
  unsigned s = 7;
  for (int i = 0; i < 60; i++) {
    s = s * 1103515245 + 12345;
    insert(i == 40 ? 37 : s >> 16 & 1023);
  }
  return 0;
}
