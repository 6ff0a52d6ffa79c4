// A program whose every instruction is compared with what single steps see:
// no signals, no time, no input.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node { struct node *next; int key; char name[20]; };

static struct node *push(struct node *l, int key)
{
	struct node *n = malloc(sizeof *n);
	n->next = l;
	n->key = key;
	snprintf(n->name, sizeof n->name, "node %d", key);
	return n;
}

static int by_key(const void *a, const void *b)
{
	return (*(struct node *const *)a)->key - (*(struct node *const *)b)->key;
}

int main(int argc, char **argv)
{
	struct node *l = 0, *all[40];
	for (int i = 0; i < 40; i++)
		all[i] = l = push(l, i * 7919 % 40);
	qsort(all, 40, sizeof *all, by_key);
	char text[4096], copy[4096];
	int at = 0;
	for (int i = 0; i < 40; i++)
		at += sprintf(text + at, "%s %g;", all[i]->name, all[i]->key / 3.0);
	memcpy(copy, text, sizeof copy);
	memset(text, 0, at / 2);
	__asm__ volatile("rep movsb" : : "D"(text), "S"(copy), "c"(100L) : "memory");
	long left;
	__asm__ volatile("repne scasb" : "=c"(left) : "D"(copy), "c"(200L), "a"(';') : "memory");
	unsigned bits[8] = {0};
	__asm__ volatile("btsl %1, %0" : "+m"(bits) : "r"(77) : "memory");
	switch (argc) {
	case 0: at++; break;
	case 1: at += 2; break;
	case 2: at += 3; break;
	case 3: at += 4; break;
	case 4: at += 5; break;
	}
	printf("%d %ld %u %.20s\n", at, left, bits[2], text);
	return 0;
}
