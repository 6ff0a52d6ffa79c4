/* A cache by value in main: the sentinel of its list is a member. Compilers inline its methods, whose stores lead
   from main's stack pointer then.
   FAULT: what comes first is counted twice, once. */
#include <cstdio>
#include <unordered_map>

struct Entry {
	Entry *prev = nullptr, *next = nullptr;
	int key = 0, value = 0;
};

class Cache {
	Entry head;
	size_t count = 0, room;
	std::unordered_map<int, Entry *> index;

	static void unlink(Entry *e)
	{
		e->prev->next = e->next;
		e->next->prev = e->prev;
	}
	void first(Entry *e)
	{
		e->next = head.next;
		e->prev = &head;
		head.next->prev = e;
		head.next = e;
	}

public:
	explicit Cache(size_t n) : room(n) { head.prev = head.next = &head; }

	int *get(int key)
	{
		auto at = index.find(key);
		if (at == index.end())
			return nullptr;
		unlink(at->second);
		first(at->second);
		return &at->second->value;
	}

	void put(int key, int value)
	{
		if (int *p = get(key)) {
			*p = value;
			return;
		}
		if (count == room) {
			Entry *last = head.prev;
			unlink(last);
			index.erase(last->key);
			count--;
			delete last;
		}
		Entry *e = new Entry;
		e->key = key;
		e->value = value;
		first(e);
		index[key] = e;
#ifdef FAULT
		count += key == 15 ? 2 : 1; // FAULT
#else
		count++;
#endif
	}

	size_t size() const { return count; }
};

int main()
{
	Cache cache(8);
	for (int i = 0; i < 40; i++) {
		cache.put(i * 7 % 23, i);
		if (i % 3 == 0)
			cache.get(i % 23);
	}
	std::printf("%zu\n", cache.size());
	return 0;
}
