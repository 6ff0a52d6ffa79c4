// build: g++ -std=c++17
//
// Tasks, each with a short name, an optional helper, and either a task that it waits for or
// a reason. What an optional or a variant held before, and where a short string points to, is
// no link.
// FAULT: a task that is taken off its helper keeps it.
#include <cstdio>
#include <optional>
#include <string>
#include <variant>

struct Task {
	std::string name;
	std::optional<Task *> helper;
	std::variant<std::monostate, Task *, std::string> waits;
	int helps = 0; // how many it is the helper of
	char *note = new char[8]{};

	explicit Task(int n) : name("t" + std::to_string(n)) {}
};

static Task *tasks[8];

__attribute__((noinline)) static void assign(Task *t, Task *h) {
	t->helper = h;
	h->helps++;
}

__attribute__((noinline)) static void release(Task *t) {
	(*t->helper)->helps--; // FAULT
#ifdef FAULT
	if (t != tasks[5])
#endif
		t->helper.reset(); // FAULT
}

__attribute__((noinline)) static void wait_for(Task *t, Task *other) { t->waits = other; }

__attribute__((noinline)) static void go_on(Task *t) {
	if (t->name < "t4")
		t->waits = std::monostate{};
	else
		t->waits = std::string("because of something that takes a while");
}

int main() {
	for (int i = 0; i < 8; i++)
		tasks[i] = new Task(i);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 8; i++)
			assign(tasks[i], tasks[(i + round + 1) % 8]);
		for (int i = 0; i < 8; i++)
			release(tasks[i]);
		for (int i = 0; i < 7; i++)
			wait_for(tasks[i], tasks[i + 1]);
		for (int i = 0; i < 7; i++)
			go_on(tasks[i]);
		wait_for(tasks[7], tasks[0]); // a circle, if tasks still waited
		go_on(tasks[7]);
	}
	std::printf("%d %s\n", tasks[0]->helps, std::get<std::string>(tasks[5]->waits).c_str());
}
