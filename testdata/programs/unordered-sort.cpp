// build: g++ -std=c++17
//
// Pairs are sorted by a comparison of the program's own.
// FAULT: it says of equal ones that each is before the other, and the library's sort goes on beyond the end.
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

using Pair = std::pair<int, int>;

struct Before {
	bool operator()(const Pair &a, const Pair &b) const {
#ifdef FAULT
		return a.first <= b.first;
#else
		return a.first < b.first;
#endif
	}
};

int main() {
	std::vector<Pair> v(100, {1, 2});
	std::sort(v.begin(), v.end(), Before()); // FAULT
	std::printf("%d\n", v.front().second);
}
