// Operators with a free list of their own, which they keep in the blocks.
#include <cstdlib>
#include <new>

struct Free {
	Free *next;
};
static Free *freed;

void *operator new(std::size_t n)
{
	if (Free *f = freed) {
		freed = f->next;
		return f;
	}
	return std::malloc(n < sizeof(Free) ? sizeof(Free) : n);
}
void *operator new[](std::size_t n) { return operator new(n); }
void operator delete(void *p) noexcept
{
	Free *f = static_cast<Free *>(p);
	f->next = freed;
	freed = f;
}
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }

int main()
{
	delete new int(1);
	delete[] new int[2];
}
