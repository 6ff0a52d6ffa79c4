/* Control that leaves frames by other ways than RET. */
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <ucontext.h>
#include <vector>

struct guard {
	long *p;
	explicit guard(long v) : p(new long[4]) { p[0] = v; p[3] = v; }
	~guard() { delete[] p; }
};

static long live;

__attribute__((noinline)) static long deep(int n, std::vector<long> *v)
{
	guard g(n);

	v->push_back(n);
	if (n == 0)
		throw std::runtime_error(std::string("a long enough reason ") + std::to_string(v->size()));
	live += deep(n - 1, v);
	return g.p[3];
}

static void exceptions()
{
	std::map<int, std::string> seen;
	std::vector<long> v;

	for (int i = 0; i < 3000; i++) {
		try {
			deep(i % 7, &v);
		} catch (const std::exception &e) {
			seen[i % 100] = e.what();
		}
	}
	std::printf("%zu %s %zu\n", seen.size(), seen[99].c_str(), v.size());
}

static jmp_buf env;

__attribute__((noinline)) static void jumper(int n, long *p)
{
	char buf[100] = {};

	std::snprintf(buf, sizeof(buf), "%d", n);
	std::memcpy(p, buf, 8);
	p[1] = n;
	if (n % 5 == 0)
		longjmp(env, n + 1);
	jumper(n - 1, p);
}

static int compare(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	if (x == 1234)
		longjmp(env, 1);
	return x < y ? -1 : x > y;
}

static void jumps()
{
	long *p = (long *)std::calloc(8, 8), *q = (long *)std::malloc(8000);
	volatile long n = 0;

	for (volatile int i = 0; i < 3000; i++)
		if (setjmp(env))
			n += p[1];
		else
			jumper(i % 64, p);
	for (volatile int i = 0; i < 100; i++) {
		for (int k = 0; k < 1000; k++)
			q[k] = (k * 7919 + i) % (i % 2 ? 1234 : 2000);
		if (!setjmp(env))
			std::qsort(q, 1000, 8, compare);
		n += q[0];
	}
	std::printf("%ld %ld\n", (long)n, p[0]);
}

static ucontext_t home, other[4];
static long *boxes[4];

static void coroutine(int id)
{
	for (long i = 0; i < 2000; i++) {
		long *b = new long[3];

		b[0] = i;
		b[2] = id;
		boxes[id][0] += b[0] + b[2];
		delete[] b;
		swapcontext(&other[id], &other[(id + 1) % 4]);
	}
}

static void coroutines()
{
	for (int i = 0; i < 4; i++) {
		getcontext(&other[i]);
		other[i].uc_stack.ss_sp = std::malloc(64 << 10);
		other[i].uc_stack.ss_size = 64 << 10;
		other[i].uc_link = &home;
		boxes[i] = (long *)std::calloc(2, 8);
		makecontext(&other[i], (void (*)())coroutine, 1, i);
	}
	swapcontext(&home, &other[0]);
	std::printf("%ld %ld %ld %ld\n", boxes[0][0], boxes[1][0], boxes[2][0], boxes[3][0]);
}

int main(int argc, char **argv)
{
	std::string m = argv[1];

	if (m == "exceptions")
		exceptions();
	else if (m == "jumps")
		jumps();
	else if (m == "coroutines")
		coroutines();
	return 6;
}
