/* What a stepper meets: calls that wait for other threads, handlers, a fault that a handler
 * mends, CPUID. tick is called 123 times, behind is executed 256 times. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int total;
static char *page;

__attribute__((noinline)) void tick(void) { total++; }

static void *work(void *arg)
{
	for (int i = 0; i < 40; i++) {
		pthread_mutex_lock(&lock);
		tick();
		pthread_mutex_unlock(&lock);
	}
	return 0;
}

static void on_signal(int s) { tick(); }
static void mend(int s) { tick(); mprotect(page, 4096, PROT_READ | PROT_WRITE); }

/* Some hypervisors lose the trap of a step over CPUID, of some of its leaves. */
static void identify(void)
{
	for (unsigned leaf = 0; leaf < 64; leaf++)
		for (unsigned of = 0; of < 4; of++) {
			unsigned a = leaf < 32 ? leaf : 0x80000000 + leaf - 32, b, c = of, d;

			__asm__ volatile("cpuid\n\t.globl behind\nbehind: nop" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
		}
}

int main(void)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], 0);
	identify();
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
	signal(SIGSEGV, mend);
	page = mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	*(volatile char *)page = 1;
	return total == 123 ? 7 : 8;
}
