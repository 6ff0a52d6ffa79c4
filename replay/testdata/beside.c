/* What a call that is made beside does. */
#include <stdlib.h>

static int list[4], sum, calls;

int total(int n)
{
	calls++;
	sum = 0;
	for (int i = 0; i < n; i++) sum += list[i];
	return sum;
}

int put(int i, int v)
{
	int old = list[i];
	list[i] = v;
	return old * 100 + sum;
}

int both(int a, int b)
{
	int x = put(0, a);
	return x + put(1, b) * 10 + sum;
}

int main(void)
{
	if (total(0) + both(1, 2) > 9) abort();
	return 0;
}
