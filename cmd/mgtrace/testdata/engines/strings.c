/* String instructions, with and without a repeat prefix, in both directions. */
#include <stdint.h>
#include <stdlib.h>

static char *p, *q;

#define STOS(op, to, n, value) do { \
	void *d = to; unsigned long c = n; \
	asm volatile(op : "+D"(d), "+c"(c) : "a"(value) : "memory"); \
} while (0)
#define MOVS(op, to, from, n) do { \
	void *d = to; const void *s = from; unsigned long c = n; \
	asm volatile(op : "+D"(d), "+c"(c), "+S"(s) :: "memory"); \
} while (0)

int main(void)
{
	p = malloc(20000);
	q = malloc(20000);
	for (int i = 0; i < 20000; i++)
		p[i] = i * 7;
	for (unsigned long n = 0; n < 20; n += 3) {
		STOS("rep stosb", q, n, 0x41);
		STOS("rep stosw", q, n, 0x4142);
		STOS("rep stosl", q, n, 0x41424344);
		STOS("rep stosq", q, n, 0x4142434445464748);
		STOS("std; rep stosb; cld", q + 100, n, 0x51);
		STOS("std; rep stosw; cld", q + 200, n, 0x5152);
		STOS("std; rep stosq; cld", q + 300, n, 0x5152535455565758);
		MOVS("rep movsb", q, p, n);
		MOVS("rep movsw", q + 1, p, n);
		MOVS("rep movsl", q + 2, p, n);
		MOVS("rep movsq", q + 3, p, n);
		MOVS("std; rep movsb; cld", q + 100, p + 100, n);
		MOVS("std; rep movsq; cld", q + 300, p + 300, n);
		MOVS("rep movsb", q + 1, q, n);			/* smears */
		MOVS("std; rep movsb; cld", q + 40, q + 41, n);
	}
	STOS("rep stosq", q, 2000, 0x6162636465666768);
	MOVS("rep movsb", q, p, 9001);
	STOS("stosb", q, 5, 0x71);
	STOS("stosw", q, 5, 0x7172);
	STOS("stosl", q, 5, 0x71727374);
	STOS("stosq", q, 5, 0x7172737475767778);
	STOS("std; stosl; cld", q + 50, 5, 0x71727374);
	MOVS("movsb", q, p, 5);
	MOVS("movsw", q, p, 5);
	MOVS("movsl", q, p, 5);
	MOVS("movsq", q, p, 5);
	MOVS("std; movsq; cld", q + 50, p + 50, 5);
	return 0;
}
