// Alignment is checked for a while. With an argument something is not aligned.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static long words[4];
static volatile int caught;

static void check(int on)
{
	if (on)
		__asm__ volatile("pushfq\n\torl $0x40000, (%%rsp)\n\tpopfq" : : : "memory", "cc");
	else
		__asm__ volatile("pushfq\n\tandl $~0x40000, (%%rsp)\n\tpopfq" : : : "memory", "cc");
}

static void handler(int sig)
{
	check(0);
	printf("signal %d\n", sig);
	fflush(stdout);
	_exit(3);
}

int main(int argc, char **argv)
{
	signal(SIGBUS, handler);
	check(1);
	for (int i = 0; i < 100; i++)
		words[i & 3] += i * (long)argc;
	if (argc > 1)
		*(volatile int *)((char *)words + 5) = 1;
	check(0);
	printf("%ld\n", words[0] + words[1] + words[2] + words[3]);
	return 0;
}
