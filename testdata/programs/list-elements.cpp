// build: g++ -std=c++17
//
// People in a std::list and a std::map, by value: the library's blocks hold them.
// FAULT: one who goes stays the friend of the next.
#include <cstdio>
#include <list>
#include <map>

struct Person {
	int number;
	Person *friend_of = nullptr;
	int friends = 0;
};

static std::list<Person> here;
static std::map<int, Person> gone; // copies of those who left

__attribute__((noinline)) static void come(int n) {
	Person *last = here.empty() ? nullptr : &here.back();
	here.push_back(Person{n, last});
	if (last)
		last->friends++;
}

__attribute__((noinline)) static void leave(int n) {
	auto it = here.begin();
	while (it->number != n)
		++it;
	for (Person &p : here)
		if (p.friend_of == &*it) {
#ifdef FAULT
			if (n != 12)
#endif
				p.friend_of = nullptr; // FAULT
		}
	if (it->friend_of)
		it->friend_of->friends--;
	gone[n] = Person{n};
	here.erase(it); // FAULT
}

int main() {
	for (int i = 0; i < 20; i++)
		come(i);
	for (int i = 0; i < 20; i += 3)
		leave(i);
	std::printf("%zu %zu\n", here.size(), gone.size());
}
