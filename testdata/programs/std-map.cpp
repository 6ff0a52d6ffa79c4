// spec: ../specs/std-map.cons
//
// Ages by number in a std::map.
// FAULT: a person is given another number by writing through the constness of
// the map's key, which the map can not see: the order is broken.
#include <cstdio>
#include <map>

std::map<int, int> ages;

static void renumber(int from, int to)
{
	auto it = ages.find(from);
#ifdef FAULT
	const_cast<int &>(it->first) = to; // FAULT
#else
	int age = it->second;
	ages.erase(it);
	ages[to] = age;
#endif
}

int main()
{
	for (int i = 0; i < 30; i++)
		ages[i * 37 % 101] = 20 + i;
	for (int i = 0; i < 10; i++)
		ages.erase(i * 37 % 101);
	ages.insert({ 500, 1 });
	renumber(500, 0);
	ages[501] = 2;
	std::printf("%d\n", ages.empty());
	return 0;
}
