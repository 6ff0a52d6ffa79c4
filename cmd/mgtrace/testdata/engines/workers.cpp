// Threads of C++: exceptions in several at once, thread-local objects, futures.
#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

struct Local {
	std::vector<std::string> lines;
	~Local() { lines.clear(); }
};

static thread_local Local local;
static std::atomic<long> *turns;
static std::atomic<int> began;	// all run before one ends: the stack of one that ended would be used again

static long parse(const std::string &s)
{
	if (s.size() % 3 == 0)
		throw std::invalid_argument("a length that is a multiple of three: " + s);
	local.lines.push_back(s);
	return s.size();
}

static std::unique_ptr<std::map<long, std::string>> work(long id)
{
	auto m = std::make_unique<std::map<long, std::string>>();
	std::string s = "thread " + std::to_string(id) + " ";
	for (int i = 0; i < 40; i++) {
		s += static_cast<char>('a' + i % 26);
		try {
			(*m)[parse(s)] = s;
		} catch (const std::exception &e) {
			(*m)[-i] = e.what();
		}
		turns->fetch_add(1);
	}
	return m;
}

int main()
{
	turns = new std::atomic<long>(0);
	std::vector<std::unique_ptr<std::map<long, std::string>>> results(3);
	std::vector<std::thread> threads;
	threads.reserve(3);
	for (long i = 0; i < 3; i++)
		threads.emplace_back([&results, i] {
			for (began++; began < 3;)
				std::this_thread::yield();
			results[i] = work(i);
		});
	for (auto &t : threads)
		t.join();
	auto f = std::async(std::launch::async, work, 7);
	results.push_back(f.get());
	return turns->load() != 160;
}
