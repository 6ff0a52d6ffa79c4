/* A program with its C library linked in. */
/* build: gcc -static */
#include "allocators.c"
