// Types in scopes: each name is another one's end.

namespace store {
namespace {
struct Entry { Entry *next; };
struct Twice { int a; };
}
Entry first;
Twice once;
}

namespace other {
namespace {
struct Twice { long b; };
}
Twice again;
}

int main() { return store::first.next || store::once.a || other::again.b; }
