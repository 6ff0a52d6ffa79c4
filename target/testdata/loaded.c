/* What has happened when the libraries are loaded? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int constructed;
void (*volatile pointer)(void *) = free; /* relocated to libc */

__attribute__((constructor)) static void construct(void) { constructed++; }

void chosen(void) {}

void *resolver(void)
{
	/* As many registers as a compiler will use. */
	volatile double d = 1.5;
	char copy[64];
	memset(copy, (int)(d * 2), sizeof copy);
	return (void *)((char *)chosen + copy[7] - 3);
}

void *faulty(void) { return *(void *volatile *)8; }

int main(void)
{
	printf("constructed %d\n", constructed);
	pointer(malloc(1));
	return 3;
}
