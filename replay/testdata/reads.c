#include <string.h>

struct slot { struct slot *next; long value; };
struct table { struct slot **slots; unsigned n; };

static struct slot last = { (struct slot *)16, 3 }, first = { &last, 2 };
struct slot *list[4] = { 0, &first, 0, 0 };
struct table table = { list, 4 };
struct slot *head = &first;
char *name = (char *)24;
long place;

/* Each dies of what it reads. */
long empty(unsigned key) { return table.slots[key % table.n]->value; }
long walk(unsigned key)
{
	long sum = 0;
	for (struct slot *s = head; s; s = s->next)
		sum += s->value;
	return sum + key;
}
/* A compiler does not read what it has stored. */
long kept(unsigned key)
{
	place = (long)key * 3 << 44;
	return list[place]->value;
}
long text(void) { return strlen(name); }
/* This one reads the same, and lives. */
long full(void) { return table.slots[1]->value; }

int main(void) { return full() != 2; }
