/* A table of chains that grows and shrinks until it is told to end (SIGTERM). With an argument, SIGUSR1
 * has it forget items. On SIGUSR2 it says so when it has put a hundred in and taken as many out. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct item { struct item *next; int key; };
struct table { struct item **slots; int size, used; };

static struct table *table;
static struct item **recent; /* no structure leads to this array */
static volatile sig_atomic_t ends, turned, asked;

static void on_end(int sig) { ends = 1; }
static void on_turn(int sig) { turned = 1; }
static void on_ask(int sig) { asked = 100; }

__attribute__((noinline)) static void insert(struct table *t, int key)
{
	struct item *it = malloc(sizeof *it);
	it->key = key;
	it->next = t->slots[key % t->size];
	t->slots[key % t->size] = it;
	recent[key % 4] = it;
	t->used++;
}

__attribute__((noinline)) static void drop(struct table *t, int key, int forget)
{
	struct item **at = &t->slots[key % t->size], *it;
	while ((it = *at) && it->key != key)
		at = &it->next;
	if (!it)
		return;
	if (recent[key % 4] == it)
		recent[key % 4] = NULL;
	*at = forget ? NULL : it->next; /* BUG */
	free(it);
	t->used--;
}

int main(int argc, char **argv)
{
	table = malloc(sizeof *table);
	table->size = 8;
	table->used = 0;
	table->slots = calloc(table->size, sizeof *table->slots);
	recent = calloc(4, sizeof *recent);
	for (int i = 0; i < 40; i++)
		insert(table, i);
	signal(SIGTERM, on_end);
	signal(SIGUSR1, on_turn);
	signal(SIGUSR2, on_ask);
	puts("ready");
	fflush(stdout);
	for (int i = 40; !ends; i++) {
		drop(table, i - 20, turned && argc > 1);
		insert(table, i);
		usleep(1000);
		if (asked && !--asked) {
			puts("goes on");
			fflush(stdout);
		}
	}
	printf("ok: %d\n", table->used > 0);
	return 0;
}
