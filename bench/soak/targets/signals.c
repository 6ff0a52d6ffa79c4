// Signals at any point, on a stack of their own; handlers store and nest.
#include "soak.h"

static struct node pool[64];
static struct list seen;
static volatile long ticks, raised, nested;

static void on_nested(int signal) { (void)signal; nested++; }
static void on_raise(int signal) {
	(void)signal;
	struct node *n = &pool[raised % 64];
	n->value = raised;
	n->next = &pool[(raised + 1) % 64];
	raised++;
	raise(SIGUSR2);
}
static void on_tick(int signal) { (void)signal; ticks++; pool[ticks % 64].value ^= 0; }

int main(int argc, char **argv) {
	start(argc, argv);
	stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
	CHECK(!sigaltstack(&stack, NULL));
	struct sigaction a = { .sa_handler = on_raise, .sa_flags = SA_ONSTACK | SA_RESTART };
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	a.sa_handler = on_nested;
	CHECK(!sigaction(SIGUSR2, &a, NULL));
	a.sa_handler = on_tick;
	CHECK(!sigaction(SIGALRM, &a, NULL));
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	CHECK(!setitimer(ITIMER_REAL, &every, NULL));
	long i;
	for (i = 0; going_on(i); i++) {
		for (int k = 0; k < 30; k++) push(&seen, i ^ k);
		raise(SIGUSR1);
		CHECK(raised == i + 1 && nested == raised && pool[i % 64].next == &pool[(i + 1) % 64]);
		for (int k = 0; k < 25 || seen.length > 1000; k++) pop(&seen);
		check(&seen);
	}
	every = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &every, NULL);
	return finish();
}
