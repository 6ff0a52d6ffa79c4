// Threads that throw through frames with destructors, wait for each other, and
// share a map.
#include <atomic>
#include <cstdio>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct Error : std::runtime_error {
	int depth;
	explicit Error(int depth) : std::runtime_error("too deep"), depth(depth) {}
};

static int descend(int n, int depth)
{
	std::string guard(100, 'x');
	if (n == 0)
		throw Error(depth);
	return descend(n - 1, depth + 1) + static_cast<int>(guard.size());
}

int main()
{
	std::mutex mutex;
	std::map<int, std::string> tree;
	std::atomic<long> sum{0};
	std::vector<std::thread> threads;

	for (int t = 0; t < 8; t++)
		threads.emplace_back([&, t] {
			for (int i = 0; i < 1000; i++) {
				try {
					if (i % 50 == 0)
						descend(i % 17, 0);
					std::unordered_map<int, std::unique_ptr<int>> hash;
					for (int k = 0; k < 5; k++)
						hash[k] = std::make_unique<int>(k);
					sum += hash.size();
				} catch (const Error &e) {
					sum += e.depth;
				}
				std::lock_guard<std::mutex> lock(mutex);
				tree[i] += static_cast<char>('a' + t);
			}
		});
	for (auto &t : threads)
		t.join();
	auto last = std::async(std::launch::async, [] { return descend(3, 0); });
	try {
		last.get();
	} catch (const std::exception &e) {
		std::puts(e.what());
	}
	size_t n = 0;
	for (auto &p : tree)
		n += p.second.size();
	std::printf("%ld %zu\n", sum.load(), n);
	return 7;
}
