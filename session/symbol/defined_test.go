package symbol

import "testing"

// TestDefinedAt: a function is defined where a body follows its parameters, and where a type stands before its name.
func TestDefinedAt(t *testing.T) {
	const text = `static void verify(struct list *l);
/* void gone(void) { } */
static int
count(const struct list *l,
      int (*test)(int))
{
	if (verify(l)) {
		return each(l) ;
	}
	l->reset(0);
	list_for_each(l) {
	}
	return recount(l);
}
int recount(struct list *l) { return 0; }
template <class T> std::size_t Tree<T>::size() const noexcept {
	return n;
}
auto Tree::top() -> Node * { return root; }
`
	for name, want := range map[string]int{
		"verify":        0, // declared, called
		"count":         4,
		"recount":       15,
		"list_for_each": 0,
		"each":          0,
		"reset":         0,
		"size":          16,
		"top":           19,
		"test":          0,
		"absent":        0,
	} {
		if got := definedAt(text, name); got != want {
			t.Errorf("%s is defined at line %d, want %d", name, got, want)
		}
	}
}

// A function of another class whose text has the name that was asked for has it in the text and for the compiler: no macro did it.
func TestLastPart(t *testing.T) {
	for function, want := range map[string]string{
		"get": "get", "Arena::get(unsigned long)": "get", "Lru<a::Key, int>::get(a::Key const&) const": "get", "void push<a::T>(a::T*)": "void push",
	} {
		if got := lastPart(function); got != want {
			t.Errorf("%s: %q, want %q", function, got, want)
		}
	}
}
