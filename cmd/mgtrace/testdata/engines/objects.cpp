// Every operator new and delete, containers, and what exceptions do to them.
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

struct Part {
	long v[4];
	explicit Part(long x) : v{x, x, x, x} { if (x == 3) throw std::runtime_error("a message that is longer than a short string"); }
	virtual ~Part() { v[0] = -1; }
};

struct alignas(64) Wide { double d[8]; Wide() { for (int i = 0; i < 8; i++) d[i] = i; } };

struct Other : Part {
	std::string name;
	explicit Other(long x) : Part(x), name(x, 'n') {}
};

static std::vector<std::unique_ptr<Part>> parts;

__attribute__((noinline)) static void make(long x)
{
	parts.push_back(std::make_unique<Part>(x));
	parts.emplace_back(new Other(x + 10));
}

int main()
{
	for (long i = 0; i < 6; i++) {
		try {
			make(i);
		} catch (const std::exception &e) {
			parts.push_back(nullptr);
		}
	}
	long *a = new long[7];
	a[6] = 1;
	delete[] a;
	char *volatile c = new (std::nothrow) char[9];
	c[8] = 2;
	delete[] c;
	Part *many = new Part[2]{Part(1), Part(2)};
	delete[] many;
	Wide *w = new Wide;
	Wide *ws = new Wide[3];
	ws[2].d[7] = w->d[1];
	delete w;
	delete[] ws;
	volatile size_t huge = SIZE_MAX / 4;
	try {
		*static_cast<volatile char *>(::operator new(huge)) = 0;
	} catch (const std::bad_alloc &) {
		a = new long(5);
	}
	if (::operator new(huge, std::nothrow))
		return 1;
	delete a;
	void *room = ::operator new(sizeof(Part));
	(new (room) Part(9))->~Part();
	::operator delete(room);

	std::map<std::string, std::vector<int>> index;
	for (int i = 0; i < 12; i++)
		index["key number " + std::to_string(i % 5)].push_back(i);
	index.erase("key number 2");
	std::string text;
	for (int i = 0; i < 40; i++)
		text += "append ";
	auto shared = std::make_shared<std::string>(text);
	auto second = shared;
	*second = "short";
	parts.clear();
	return index.size() != 4;
}
