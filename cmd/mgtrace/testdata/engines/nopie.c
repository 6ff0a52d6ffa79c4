/* build: gcc -no-pie */
/* A program at a fixed address, whose pointers have 32 bits. */
#include "allocators.c"
