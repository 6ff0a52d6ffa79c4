/* What a slab allocator keeps: slabs that are empty, in part used, or full, in a list each.
   FAULT: an object that comes back is not counted. */
#include <stdio.h>
#include <stdlib.h>
#include <stdint.h>

#define PER 4
enum state { EMPTY, PARTIAL, FULL };
struct obj { struct obj *nextfree; char payload[24]; };
struct slab {
  enum state state;
  int inuse;
  struct obj *freelist;
  struct slab *next, **pprev;
  struct obj *mem[PER];
};
struct cache {
  struct slab *lists[3];
  int nslabs, nobjs;
} *cache;

static void take(struct slab *s) {
  *s->pprev = s->next;
  if (s->next)
    s->next->pprev = s->pprev;
}

static void give(struct slab *s, enum state to) {
  s->state = to;
  s->next = cache->lists[to];
  if (s->next)
    s->next->pprev = &s->next;
  s->pprev = &cache->lists[to];
  cache->lists[to] = s;
}

static struct slab *grow(void) {
  struct slab *s = malloc(sizeof *s);
  s->inuse = 0;
  s->freelist = NULL;
  for (int i = 0; i < PER; i++) {
    struct obj *o = malloc(sizeof *o);
    s->mem[i] = o;
    o->nextfree = s->freelist;
    s->freelist = o;
  }
  cache->nslabs++;
  give(s, EMPTY);
  return s;
}

struct obj *get(struct slab **from) {
  struct slab *s = cache->lists[PARTIAL];
  if (!s)
    s = cache->lists[EMPTY];
  if (!s)
    s = grow();
  struct obj *o = s->freelist;
  s->freelist = o->nextfree;
  o->nextfree = NULL;
  s->inuse++;
  cache->nobjs++;
  if (s->freelist == NULL || s->inuse == 1) {
    take(s); 
    give(s, s->freelist == NULL ? FULL : PARTIAL);
  }
  *from = s;
  return o;
}

void put(struct slab *s, struct obj *o) {
  o->nextfree = s->freelist;
  s->freelist = o; /* FAULT */
#ifndef FAULT
  s->inuse--;
#endif
  cache->nobjs--;
  take(s);
  give(s, s->inuse ? PARTIAL : EMPTY);
}

int main(void) {
  cache = calloc(1, sizeof *cache);
  struct obj *o[64];
  struct slab *s[64];
  int n = 0;
  unsigned x = 3;
  for (int i = 0; i < 100; i++) {
    x = x * 22695477 + 1;
    if (n < 60 && (n == 0 || (x >> 16) % 5 > 1)) {
      o[n] = get(&s[n]);
      n++;
    } else {
      int k = (x >> 20) % n;
      put(s[k], o[k]);
      n--;
      o[k] = o[n], s[k] = s[n];
    }
  }
  while (n) n--, put(s[n], o[n]);
  printf("%d\n", cache->nslabs);
}
