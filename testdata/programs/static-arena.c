/* Two allocators of the program's own, which divide arrays in static memory: what is
   stored there is recorded as on the heap.
   FAULT: a word is put behind the one that should follow it. */
#include <stdio.h>
#include <string.h>

struct word {
	struct word *next;
	unsigned long *counts;
	char text[8];
};

static char arena[1 << 14];
static size_t used;
static struct word cells[64];
static int taken;
static struct word *head;

__attribute__((noinline)) void *grab(size_t n, size_t size)
{
	void *p = arena + used;
	used += (n * size + 15) / 16 * 16;
	return p;
}

__attribute__((noinline)) struct word *word_new(void) { return &cells[taken++]; }

__attribute__((noinline)) void insert(const char *text)
{
	struct word **p = &head, *w;
	while (*p && strcmp((*p)->text, text) < 0)
		p = &(*p)->next;
	w = word_new();
	strcpy(w->text, text);
	w->counts = grab(4, sizeof *w->counts);
	w->counts[0] = taken;
#ifdef FAULT
	if (*p && taken == 20)
		p = &(*p)->next; /* FAULT */
#endif
	w->next = *p;
	*p = w; /* FAULT */
}

int main(void)
{
	char text[8];
	unsigned seed = 3;
	for (int i = 0; i < 40; i++) {
		seed = seed * 1103515245u + 12345u;
		snprintf(text, sizeof text, "w%03u", seed >> 16 & 1023);
		insert(text);
	}
	printf("%s %d\n", head->text, taken);
	return 0;
}
