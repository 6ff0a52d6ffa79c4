/* A block that is resized. */
#include <stdlib.h>

long grow(long n)
{
	long *p = malloc(2 * sizeof *p), sum = 0;
	p[0] = n;
	p[1] = n + 1;
	p = realloc(p, 4 * sizeof *p);
	p[2] = n + 2;
	p[3] = n + 3;
	for (int i = 0; i < 4; i++)
		sum = 10 * sum + p[i];
	return sum;
}

long shrink(long n)
{
	long *p = malloc(4 * sizeof *p);
	p[0] = n;
	p = realloc(p, 2 * sizeof *p);
	return p[0] + p[1]; /* which nobody wrote */
}

int main(void) { return grow(1) + shrink(1) > 0 ? 0 : 1; }
