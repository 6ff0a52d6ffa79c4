/* redis' dict: keys come and go, are looked up, and the table grows and shrinks meanwhile. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dict.h"
#include "mt19937-64.h"

struct key { unsigned long hash; char name[16]; };

static uint64_t hash(const void *k) { return ((const struct key *)k)->hash; }

static int same(dict *d, const void *a, const void *b)
{
    return strcmp(((const struct key *)a)->name, ((const struct key *)b)->name) == 0;
}

static void release(dict *d, void *k) { free(k); }

static dictType type = {.hashFunction = hash, .keyCompare = same, .keyDestructor = release};

/* What dict.c takes from the rest of redis. */
void *zmalloc(size_t n) { return malloc(n); }
void *zcalloc(size_t n) { return calloc(1, n); }
void *ztrycalloc(size_t n) { return calloc(1, n); }
void *zrealloc(void *p, size_t n) { return realloc(p, n); }
void zfree(void *p) { free(p); }
uint64_t siphash(const uint8_t *in, size_t n, const uint8_t *seed) { return 0; }
uint64_t siphash_nocase(const uint8_t *in, size_t n, const uint8_t *seed) { return 0; }
void _serverAssert(const char *what, const char *file, int line) { abort(); }

static struct key *make(unsigned n)
{
    struct key *k = malloc(sizeof *k);
    k->hash = n * 2654435761u % 1009;
    snprintf(k->name, sizeof k->name, "key%u", n);
    return k;
}

int main(void)
{
    dict *d = dictCreate(&type);
    unsigned seed = 12345;
    long found = 0;
    for (int i = 0; i < 600; i++) {
        seed = seed * 1103515245u + 12345u;
        struct key *k = make((seed >> 16) % 80);
        int what = (seed >> 24) % 5;
        if (what < 3 && dictAdd(d, k, (void *)(long)i) == DICT_OK)
            continue;
        if (what == 3)
            dictDelete(d, k);
        if (what == 4)
            found += dictFind(d, k) != NULL;
        if (i % 40 == 39)
            dictResize(d);
        free(k);
    }
    printf("%lu keys, found %ld\n", dictSize(d), found);
    return 0;
}
