/*
 * Text is appended to text in a block, -DAT times 16 bytes further on: glibc looks for the
 * end with vectors that are aligned to 32 or 64. With -DFAULT it goes one byte too far.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
	int n = 10;
#ifdef FAULT
	n++;
#endif
	char *text = malloc(64), *to;
	memset(text, 'x', 63);
	text[63] = 0;
	malloc(24 + 16 * AT);
	to = malloc(16);
	strcpy(to, "01234");
	strncat(to, text, n); /* FAULT */
	puts(to);
	return 0;
}
