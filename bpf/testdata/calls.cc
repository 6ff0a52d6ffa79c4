// Watched functions: returns, recursion, tail calls, exceptions, longjmp; C++
// allocation.
#include "say.h"
#include <csetjmp>
#include <cstdlib>
#include <new>

static jmp_buf env;
static volatile int sink;

extern "C" {
__attribute__((noinline)) int leaf(int x)
{
	sink = x;
	if (x == 3)
		longjmp(env, 1);
	if (x == 4)
		throw x;
	return x + 1;
}

__attribute__((noinline)) int middle(int x)
{
	int y = leaf(x);
	sink = y;
	return y + 1;
}

__attribute__((noinline)) int tail(int x)
{
	return leaf(x * 2);
}

__attribute__((noinline)) int depth(int n)
{
	if (n == 0)
		return 0;
	int d = depth(n - 1);
	sink = d;
	return d + 1;
}

__attribute__((noinline)) void touch(int *p)
{
	*p = 1;
	asm volatile("" ::: "memory");
}
}

int main()
{
	int *p = new int[4];

	middle(1);
	touch(p);
	depth(2);
	touch(p);
	if (!setjmp(env))
		middle(3);
	touch(p);
	try {
		middle(4);
	} catch (int) {
	}
	touch(p);
	tail(5);
	touch(p);
	try {
		sink = *(volatile char *)::operator new((size_t)-1 - sink);
	} catch (std::bad_alloc &) {
	}
	delete[] p;
	_exit(0);
}
