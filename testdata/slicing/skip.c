// A list of items that should lead back; whether the back link is set is decided by a
// number that was read long before. Usage: skip [EVERY]: 98 for a run without a fault.
#include <stdio.h>
#include <stdlib.h>
struct item { struct item *next, *prev; int key; };
struct cfg { int skip, room; };
static struct item *head;
static struct cfg *config;
__attribute__((noinline)) static int decide(int k) { return k % config->skip == 0; }
__attribute__((noinline)) void put(int key) {
	struct item *i = malloc(sizeof *i);
	i->key = key;
	i->prev = NULL;
	i->next = head;
	if (head && !decide(key))
		head->prev = i;
	head = i;
}
int main(int argc, char **argv) {
	config = malloc(sizeof *config);
	config->room = 100;
	config->skip = (argc > 1 ? atoi(argv[1]) : 2) + 2;
	for (int k = 1; k < 8; k++)
		put(k);
	int n = 0;
	for (struct item *i = head; i; i = i->next)
		n += i->key;
	printf("%d\n", n);
	return 0;
}
