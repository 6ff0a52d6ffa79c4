// What all targets share. A target runs for as many rounds as its argument says, 0
// for until SIGTERM. It checks what it computed, and only then says ok and ends with
// status 0: a tracer that changes anything of it does not go unseen.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t asked_to_end;
static long rounds;

static void on_term(int signal) { (void)signal; asked_to_end = 1; }

static void start(int argc, char **argv) {
	rounds = argc > 1 ? atol(argv[1]) : 0;
	struct sigaction a = { .sa_handler = on_term }; // no SA_RESTART: read must see it
	sigaction(SIGTERM, &a, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
}
static int going_on(long done) { return !asked_to_end && (!rounds || done < rounds); }

#define CHECK(x) do { if (!(x)) { \
	printf("wrong at %s:%d: %s (errno %d)\n", __FILE__, __LINE__, #x, errno); exit(1); } } while (0)

static int finish(void) { puts("ok"); return 0; }

// A singly linked list with what its values must sum up to.
struct node { long value; struct node *next; };
struct list { struct node *first; long length, sum; };

static inline void push(struct list *l, long value) {
	struct node *n = malloc(sizeof *n);
	*n = (struct node){ value, l->first };
	l->first = n, l->length++, l->sum += value;
}
static inline void pop(struct list *l) {
	struct node *n = l->first;
	l->first = n->next, l->length--, l->sum -= n->value;
	free(n);
}
static inline void check(struct list *l) {
	long length = 0, sum = 0;
	for (struct node *n = l->first; n; n = n->next) length++, sum += n->value;
	CHECK(length == l->length && sum == l->sum);
}
