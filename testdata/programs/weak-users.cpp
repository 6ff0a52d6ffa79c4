// build: g++ -std=c++20
//
// Modules own those that they use by std::shared_ptr, and are known to these by
// std::weak_ptr. One that has ended is still pointed to by its expired weak pointers,
// which keep its block. Of the two kinds of vectors an optimising compiler makes the code
// that allocates one function.
// FAULT: a use is counted twice.
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Module {
	int id, uses = 0;
	std::vector<std::shared_ptr<Module>> deps;
	std::vector<std::weak_ptr<Module>> users;
	std::list<int> log;

	explicit Module(int i) : id(i) {}
};

static std::map<int, std::shared_ptr<Module>> modules;

static std::shared_ptr<Module> get(int i) {
	std::shared_ptr<Module> &m = modules[i];
	if (!m)
		m = std::make_shared<Module>(i);
	return m;
}

__attribute__((noinline)) static void use(int a, int b) {
	std::shared_ptr<Module> user = get(a), used = get(b);
	user->deps.push_back(used);
	used->users.push_back(user);
	user->log.push_back(b);
#ifdef FAULT
	user->uses += a == 31 ? 2 : 1; // FAULT
#else
	user->uses++;
#endif
}

__attribute__((noinline)) static void forget(int i) {
	modules.erase(i); // and what only it owned
}

int main() {
	for (int i = 0; i < 40; i++) {
		use(i, i + 1 + i * 7 % 3);
		if (i % 8 == 7)
			use(i, 100);
		if (i >= 5) // nobody owns it but the map: it ends
			forget(i - 5);
	}
	std::printf("%zu modules\n", modules.size());
}
