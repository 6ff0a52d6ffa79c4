/* The library of late.c. */
#include <stdlib.h>
#include <string.h>

static long **made;
static int count;

static void __attribute__((constructor)) begin(void)
{
	made = calloc(100, sizeof(*made));
}

long *late_fill(long n, const char *s)
{
	long *p = malloc(400);

	for (int i = 0; i < 20; i++)
		p[i] = n + i;
	strcpy((char *)&p[20], s);
	memset(&p[30], (int)n, 80);
	made[count++ % 100] = p;
	return p;
}

void late_mutate(long *p)
{
	p[0]++;
	__atomic_fetch_add(&p[1], 5, __ATOMIC_SEQ_CST);
	asm volatile("rep stosb" : "+D"((char *){ (char *)&p[40] }), "+c"((long){ 24 }) : "a"(3) : "memory");
}
