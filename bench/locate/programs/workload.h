/*
 * The workload of the campaign's programs, included at the end of each:
 *
 *	prog [SEED [BASE [OPERATIONS]]]
 *
 * BASE keys are inserted, then there are OPERATIONS inserts and deletes by turns
 * of chance. The program defines INSERT, DELETE and, for the judge, CHECK.
 *
 * With -DJUDGE the whole structure is checked after each operation and at the
 * end, by the program's own code, and the exit status says what was found:
 * 0 whole, 10 broken at the end, 11 broken on the way and whole at the end.
 * Death by a signal is broken too; so is the time limit.
 */
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MAX_KEYS = 1 << 14, KEY_RANGE = 100000 };

int workload_ready; /* the base is there: some mutants begin to err now */
int workload_hits;  /* how often a mutant came by since; see mutate.go */

static unsigned long workload_state;
static int workload_keys[MAX_KEYS], workload_count;
static char workload_used[KEY_RANGE];

static unsigned workload_random(unsigned n)
{
	workload_state = workload_state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(workload_state >> 33) % n;
}

static int workload_new_key(void)
{
	int key;
	do
		key = (int)workload_random(KEY_RANGE - 1) + 1;
	while (workload_used[key]);
	workload_used[key] = 1;
	workload_keys[workload_count++] = key;
	return key;
}

static int workload_old_key(void)
{
	int i = (int)workload_random((unsigned)workload_count), key = workload_keys[i];
	workload_keys[i] = workload_keys[--workload_count];
	workload_used[key] = 0;
	return key;
}

#ifdef JUDGE
static int workload_broken;

static void workload_judge(void)
{
	if (!CHECK())
		workload_broken = 1;
}
#else
#define workload_judge() ((void)0)
#endif

/* Seconds of processor time: some mutants never end. With the kernel's probes a right program may take more. */
#ifndef PATIENCE
#define PATIENCE 2
#endif

#ifdef COVERAGE
void __gcov_dump(void);

/* A run that dies has covered something too. */
static void workload_died(int sig)
{
	__gcov_dump();
	_exit(128 + sig);
}
#endif

int main(int argc, char **argv)
{
	int base = argc > 2 ? atoi(argv[2]) : 1000;
	int operations = argc > 3 ? atoi(argv[3]) : 500;
	struct rlimit limit = { PATIENCE, PATIENCE };
	setrlimit(RLIMIT_CPU, &limit);
	workload_state = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
#ifdef COVERAGE
	for (int sig = 1; sig < 32; sig++)
		signal(sig, workload_died);
	alarm(5);
#endif
	for (int i = 0; i < base; i++) {
		INSERT(workload_new_key());
		workload_judge();
	}
	workload_ready = 1;
	for (int i = 0; i < operations; i++) {
		if (workload_count == 0 || workload_random(2))
			INSERT(workload_new_key());
		else
			DELETE(workload_old_key());
		workload_judge();
	}
#ifdef JUDGE
	return !CHECK() ? 10 : workload_broken ? 11 : 0;
#else
	return 0;
#endif
}
