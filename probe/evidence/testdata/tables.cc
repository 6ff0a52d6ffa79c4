// Allocation sites of which only virtual tables tell: in functions without debug information, which clang makes,
// constructors are inlined. The comments are as in sites.c.
#include <cstdio>
#include <new>

struct Shape { virtual ~Shape() {} virtual double area() const { return 0; } };
struct Circle : Shape { double r; Circle(double r) : r(r) {} double area() const override { return 3 * r * r; } };
struct Disc : Circle { double weight; Disc(double r) : Circle(r), weight(1) {} double area() const override { return r * r; } };

// A first member's is that of less than was asked for.
struct Framed { Circle c; long frame[4]; };

[[gnu::nodebug, gnu::noinline]] void *circle(double r) { return new Circle(r); }
[[gnu::nodebug, gnu::noinline]] void *disc(double r) { return new Disc(r); }
[[gnu::nodebug, gnu::noinline]] void *framed(double r) { return new Framed{Circle(r), {1, 2, 3, 4}}; }

int main(int argc, char **argv)
{
	auto c = circle(argc); // =Circle for sure
	auto d = disc(argc);   // =Disc for sure
	auto f = framed(argc); // =Framed
	std::printf("%g %g %g\n", static_cast<Circle *>(c)->r, static_cast<Shape *>(d)->area(), double(static_cast<Framed *>(f)->frame[3]));
	return 0;
}
