// build: g++ -std=c++17
//
// A hub owns its sessions by std::shared_ptr. A topic knows them by std::weak_ptr, which keeps the block of a session that
// has ended, and by plain pointers, newest first.
// FAULT: a session ends, and is left among the newest.
#include <cstdio>
#include <map>
#include <memory>
#include <vector>

struct Session : std::enable_shared_from_this<Session> {
	int id;
	explicit Session(int i) : id(i) {}
};

struct Entry {
	Session *session;
	Entry *next;
};

struct Topic {
	std::vector<std::weak_ptr<Session>> subscribers;
	Entry *newest = nullptr;
};

static std::map<int, std::shared_ptr<Session>> sessions;
static Topic topic;

__attribute__((noinline)) static void join(int id) {
	auto s = std::make_shared<Session>(id);
	sessions[id] = s;
	topic.subscribers.push_back(s);
	topic.newest = new Entry{s.get(), topic.newest};
}

__attribute__((noinline)) static void leave(int id) {
	auto i = sessions.find(id);
	if (i == sessions.end())
		return;
#ifdef FAULT
	if (id != 5)
#endif
	for (Entry **p = &topic.newest; *p; p = &(*p)->next)
		if ((*p)->session == i->second.get()) {
			Entry *gone = *p;
			*p = gone->next;
			delete gone;
			break;
		}
	sessions.erase(i); // FAULT
}

__attribute__((noinline)) static void publish() {
	auto &all = topic.subscribers;
	for (auto i = all.begin(); i != all.end();)
		i = i->expired() ? all.erase(i) : i + 1;
}

int main() {
	for (int i = 0; i < 12; i++) {
		join(i);
		if (i % 2)
			leave(i - 2);
		if (i % 5 == 4)
			publish();
	}
	std::printf("%zu sessions\n", sessions.size());
}
