// build: g++ -std=c++17
//
// A tree of folders that hold what is in them in vectors. Folders are moved about, so that
// vectors shrink: behind its last element a vector's block keeps pointers to folders that
// it does not hold any more.
// FAULT: a folder that is moved stays in the one where it was.
#include <algorithm>
#include <cstdio>
#include <vector>

struct Folder {
	int number;
	Folder *in = nullptr;
	std::vector<Folder *> holds;

	explicit Folder(int n) : number(n) {}
};

static Folder *top;

static void add(Folder *f, Folder *into) {
	into->holds.push_back(f);
	f->in = into;
}

__attribute__((noinline)) static void put(Folder *f, Folder *into) { add(f, into); }

__attribute__((noinline)) static void move(Folder *f, Folder *into) {
	auto &from = f->in->holds;
#ifndef FAULT
	from.erase(std::find(from.begin(), from.end(), f));
#endif
	into->holds.push_back(f); // FAULT
	f->in = into;             // FAULT
}

__attribute__((noinline)) static void remove_last(Folder *f) {
	Folder *last = f->holds.back();
	f->holds.pop_back();
	for (Folder *inner : last->holds)
		add(inner, f);
	delete last;
}

int main() {
	top = new Folder(0);
	for (int i = 1; i <= 8; i++)
		put(new Folder(i), top);
	for (int i = 0; i < 40; i++)
		put(new Folder(100 + i), top->holds[i % 8]);
	remove_last(top);
	for (int i = 0; i < 4; i++)
		move(top->holds[i]->holds.front(), top->holds[i + 1]);
	remove_last(top->holds[2]);
	int n = 0;
	for (Folder *f : top->holds)
		n += f->holds.size();
	std::printf("%d\n", n);
}
