// Functions and system calls that write to the heap. Says what each wrote.
#define _GNU_SOURCE
#include "say.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

__attribute__((noinline)) void *copy(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
	asm volatile("" ::: "memory");
	return to;
}

__attribute__((noinline)) void *copyMuch(char *to, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = from[i];
	asm volatile("" ::: "memory");
	return to;
}

__attribute__((noinline)) char *copyString(char *to, const char *from)
{
	copy(to, from, strlen(from) + 1);
	asm volatile("" ::: "memory");
	return to;
}

__attribute__((noinline)) char *append(char *to, const char *from)
{
	copy(to + strlen(to), from, strlen(from) + 1);
	asm volatile("" ::: "memory");
	return to;
}

__attribute__((noinline)) char *copyEnd(char *to, const char *from)
{
	copy(to, from, strlen(from) + 1);
	asm volatile("" ::: "memory");
	return to + strlen(from);
}

__attribute__((noinline)) int bounded(char *to, size_t n, const char *from)
{
	int len = strlen(from);
	if (n > 0) {
		size_t m = len < n - 1 ? len : n - 1;
		copy(to, from, m);
		to[m] = 0;
	}
	asm volatile("" ::: "memory");
	return len;
}

static void makePattern(char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = i * 7 + i / 251;
}

static void wrote(const char *name, const void *at, int n)
{
	say("bulk %s %p ", name, at);
	sayBytes(at, n);
	say("\n");
}

static void called(int nr, const void *at, int n)
{
	say("sys %d %p ", nr, at);
	sayBytes(at, n);
	say("\n");
}

int main(void)
{
	static char from[1 << 16];
	char *p = malloc(1 << 17);
	struct iovec v[2];
	int fd[2], n;

	makePattern(from, sizeof(from));
	for (n = 1; n <= 1 << 16; n = n * 3 + 1) {
		if (n < 500) {
			copy(p, from, n);
			wrote("copy", p, n);
		}
		copyMuch(p + 1, from, n);
		wrote("copyMuch", p + 1, n);
	}
	copyMuch(p, from, 1 << 16);
	wrote("copyMuch", p, 1 << 16);
	copy(p, from, 0);
	copyString(p, "a string");
	wrote("copyString", p, 9);
	append(p, " and more");
	wrote("append", p + 8, 10);
	copyEnd(p, "xyz");
	wrote("copyEnd", p, 4);
	bounded(p, 4, "longer");
	wrote("bounded", p, 4);
	bounded(p, 100, "short");
	wrote("bounded", p, 6);
	bounded(p, 0, "nothing");
	sprintf(p + 100, "%d-%s", 42, "x");
	wrote("sprintf", p + 100, 5);
	sprintf(p + 100, "%.*s", n - n, "x");
	wrote("sprintf", p + 100, 1);

	if (pipe(fd))
		return 1;
	n = write(fd[1], "0123456789", 10);
	n = read(fd[0], p + 8, 4);
	called(SYS_read, p + 8, 4);
	v[0].iov_base = p + 16;
	v[0].iov_len = 2;
	v[1].iov_base = p + 32;
	v[1].iov_len = 100;
	n = readv(fd[0], v, 2);
	called(SYS_readv, p + 16, 2);
	called(SYS_readv, p + 32, 4);
	close(fd[1]);
	n = read(fd[0], p, 10);	/* end of file: nothing */
	n = read(-1, p, 10);	/* fails: nothing */
	if (fstat(fd[0], (struct stat *)(p + 256)) == 0)
		called(SYS_newfstatat, p + 256, 144);
	flush();
	return n == 0;
}
