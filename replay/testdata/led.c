#include <string.h>

struct node { struct node *next; struct node **kids; void (*visit)(void); char *name; long n; unsigned char busy; };

struct node first, second, third = { (struct node *)0x660, 0, 0, 0, 3 };
struct node *kids[4] = { 0, 0, &second, 0 };
struct node second = { &third, 0, (void (*)(void))0x770, (char *)0x880, 2, 9 };
struct node first = { &second, kids, 0, 0, 2 };
struct node *head = &first;
long calls;

__attribute__((noinline)) static void count(void) { calls++; }
__attribute__((noinline)) static long value(struct node *n) { return n->next->n; }
__attribute__((noinline)) static struct node **link(struct node *n) { return &n->next; }
__attribute__((noinline)) static struct node *next(struct node *n) { return *link(n); }
__attribute__((noinline)) static struct node *kid(struct node *n, long i) { return n->kids[i]; }
__attribute__((noinline)) static struct node *either(struct node *n)
{
	if (calls)
		return n->next;
	return (struct node *)0x660;
}

/* Each dies of what it reads. */
long chain(void) { return head->next->next->next->n; }
long indexed(void) { return head->kids[head->n]->next->next->n; }
long text(void) { struct node *n = head->next; return strlen(n->name); }
void visit(void) { head->next->visit(); }
long within(void) { struct node *n = head->next->next; count(); return value(n); }
long through(void) { return next(next(next(head)))->n; }
long placed(void) { return next(kid(head, 2))->next->n; }
long chosen(void) { return either(next(head))->n; }
long parts(void) { return head->n / (long)head->next->next->name; }
long loop(void)
{
	long sum = 0;
	for (struct node *n = head; n; n = n->next)
		sum += n->n;
	return sum;
}


__attribute__((noinline, noreturn)) static void stop(void) { *(volatile long *)0x660 = 1; for (;;); }
__attribute__((noinline)) static void counted(struct node *of)
{
	long n = 0;
	for (struct node *i = of->next; i != third.next; i = i->next)
		n++;
	if (of->n != n)
		stop();
}
__attribute__((noinline, noreturn)) static void fail(long n)
{
	if (n != calls)
		count();
	stop();
}
__attribute__((noinline)) static _Bool idle(struct node *n) { return !n->busy; }
__attribute__((noinline)) static long between(struct node *n) { return (long *)n->name - (long *)n->next; }
/* Each ends itself by a condition. */
void byted(void) { if (head->next->busy == 9) stop(); }
void denied(void) { if (!idle(head->next)) stop(); }
void spanned(void) { if (between(head->next) != 7) stop(); }
void failing(void) { if (head->next->n == 2) fail(3); }
/* A condition of the function that all such calls come to in the end, by a pointer, and one of a server's loop. */
__attribute__((noinline, noreturn)) static void finish(int how) { if (calls == how) calls = 4; stop(); }
static void (*volatile handler)(int) __attribute__((noreturn)) = finish;
__attribute__((noinline, noreturn)) static void panic(int how) { handler(how); }
__attribute__((noinline, noreturn)) static void serve(void) { for (;; calls++) if (head->next->n == 2) stop(); }
void panicked(void) { if (head->next->n == 2) panic(3); }
void served(void) { if (calls != 7) serve(); }
/* Several conditions, of which the second does not hold, and what they lead to in one place. */
void several(void) { if (head->n == 9) stop(); if (head->next->n == 2) stop(); if (calls == 9) stop(); }
__attribute__((noinline, noreturn, cold)) static void quit(int how) { calls = how; *(volatile long *)0x660 = 2; for (;;); }
void apart(void) { if (head->n == 9) quit(1); if (head->next->n == 2) quit(2); if (calls == 9) quit(3); }
void checked(void) { if (head->next->n != 3) stop(); }
void lists(void) { counted(head); counted(head->next); }
void early(void) { if (calls != 7) stop(); }
void narrow(void) { if (*(int *)&head->next->n == 2) stop(); }

int main(void) { return chain() + indexed() + text() + within() + through() + placed() + chosen() + loop(); }
