/* Writes of tens of kilobytes: more than the guard behind a buffer holds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	enum { Size = 40000, Rounds = 2000 };
	char *from = malloc(Size), *to = malloc(Size);
	unsigned long sum = 0;

	for (int i = 0; i < Rounds; i++) {
		int n = 1 + i * 7919 % Size;

		memset(from, i, n);
		memcpy(to, from, n);
		sum += (unsigned char)to[n - 1];
	}
	printf("%lu\n", sum);
	free(from);
	free(to);
	return 0;
}
