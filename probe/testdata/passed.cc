struct Node { Node *next; };
struct List {
	Node *head;
	long n;
	void push(Node *x);
};
struct Big { long words[100]; };

void List::push(Node *x) { x->next = head; head = x; n++; }
void fill(Big &b, int from, const char *name, void (*f)(), Node **at) { b.words[from] = name[0]; *at = nullptr; f(); }
struct Text { long size; const char *p; };
int searched(Text &t, const void *key, unsigned char *bytes, long *numbers, Node **at) { return t.p[0] + bytes[0] + numbers[0] + (key == *at); }
int plain(int a, double b) { return a + int(b); }
