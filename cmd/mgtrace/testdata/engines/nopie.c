/* A program at a fixed address, whose pointers have 32 bits. */
/* build: gcc -no-pie */
#include "allocators.c"
