/* Formulas, as a structure with a union whose members have their pointers at different
   places, and at the same one a string.
   FAULT: of two negations the outer one is left leading to the inner one, which is freed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { NUM, VAR, NEG, BIN };

struct node {
	enum kind kind;
	int size;
	union {
		long num;
		char *name;
		struct node *arg;
		struct {
			struct node *lhs;
			char op;
			struct node *rhs;
		} bin;
	} u;
};

static unsigned seed = 19;

static unsigned draw(void)
{
	seed = seed * 1103515245u + 12345u;
	return seed >> 16;
}

static struct node *make(enum kind kind, int size)
{
	struct node *n = calloc(1, sizeof *n);
	n->kind = kind;
	n->size = size;
	return n;
}

static struct node *grow(int depth)
{
	struct node *n, *a, *b;
	switch (depth ? draw() % 5 : draw() % 2) {
	case 0:
		n = make(NUM, 1);
		n->u.num = draw() % 100;
		return n;
	case 1:
		n = make(VAR, 1);
		n->u.name = strdup("x");
		return n;
	case 2:
	case 3:
		a = grow(depth - 1);
		n = make(NEG, a->size + 1);
		n->u.arg = a;
		return n;
	}
	a = grow(depth - 1);
	b = grow(depth - 1);
	n = make(BIN, a->size + b->size + 1);
	n->u.bin.op = '+';
	n->u.bin.lhs = a;
	n->u.bin.rhs = b;
	return n;
}

__attribute__((noinline)) struct node *build(void) { return grow(5); }

static struct node *fold(struct node *n)
{
	if (n->kind == NEG) {
		n->u.arg = fold(n->u.arg);
		n->size = n->u.arg->size + 1;
		if (n->u.arg->kind == NEG) {
			struct node *in = n->u.arg->u.arg;
#ifdef FAULT
			if (in->kind != VAR)
#endif
			{
				free(n->u.arg);
				free(n);
				return in;
			}
			free(n->u.arg); /* FAULT */
		}
	} else if (n->kind == BIN) {
		n->u.bin.lhs = fold(n->u.bin.lhs);
		n->u.bin.rhs = fold(n->u.bin.rhs);
		n->size = n->u.bin.lhs->size + n->u.bin.rhs->size + 1;
	}
	return n;
}

__attribute__((noinline)) struct node *simplify(struct node *n) { return fold(n); }

int main(void)
{
	int size = 0;
	for (int i = 0; i < 12; i++) {
		struct node *n = simplify(build());
		size += n->size;
	}
	printf("%d\n", size);
	return 0;
}
