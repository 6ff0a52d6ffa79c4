/* build: gcc -static */
/* A program with its C library linked in. */
#include "allocators.c"
