// Classes with virtual bases, and where these lie.
#include <cstdio>

struct Item {
	int id = 1;
	virtual ~Item() {}
};
struct Owner {
	long owner = 2;
};
struct Named : virtual Item {
	const char *name = "";
};
struct Counted : virtual Item, virtual Owner {
	int n = 0;
	virtual int count() { return n; }
};
struct Node : Named, Counted {
	Node *next = nullptr;
};
struct Alone : virtual Owner {
	char c = 'c';
};

template <class T> static void tell(const char *name, T *x)
{
	std::printf("%s %ld", name, (long)((char *)&x->owner - (char *)x));
}

int main()
{
	Node node;
	Alone alone;
	Item *item = &node;
	tell("Node", &node);
	std::printf(" %ld\n", (long)((char *)&item->id - (char *)&node));
	tell("Alone", &alone);
	std::printf("\n");
	return node.count();
}
