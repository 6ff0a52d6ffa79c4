/* Two stacks by value in main, whose nodes are left to the program's end: what destroys them writes down how many
   there are, and frees none.
   FAULT: a node leads past the one below it. */
#include <cstdio>

struct Node {
	Node *next;
	int value;
};

struct Stack {
	Node *top = nullptr;
	long count = 0;

	~Stack() { std::printf("%ld\n", count); }
};

__attribute__((noinline)) void push(Stack &s, int value)
{
	Node *n = new Node{s.top, value};
#ifdef FAULT
	if (value == 5)
		n->next = s.top->next; // FAULT
#endif
	s.top = n;
	s.count++;
}

int main()
{
	Stack first, second;
	for (int i = 0; i < 9; i++) {
		push(first, i);
		push(second, i);
	}
	return 0;
}
