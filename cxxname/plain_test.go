package cxxname

import "testing"

// Names that are the same, as a programmer, DWARF of gcc and clang, and the
// demangler write them.
func TestPlain(t *testing.T) {
	same := [][]string{
		{"std::string", "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >",
			"std::__1::basic_string<char>", "::std::basic_string<char,std::char_traits<char>>"},
		{"cache::Lru<std::string, int>::Entry", "cache::Lru<std::__cxx11::basic_string<char>,int>::Entry",
			"struct cache::Lru<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, int>::Entry"},
		{"std::map<int, std::vector<long>>", "std::map<int, std::vector<long int, std::allocator<long int> >, std::less<int>, std::allocator<std::pair<int const, std::vector<long, std::allocator<long> > > > >"},
		{"std::stack<int>", "std::stack<int, std::deque<int, std::allocator<int> > >"},
		{"std::priority_queue<A>", "std::priority_queue<A, std::vector<A, std::allocator<A> >, std::less<A> >"},
		{"Grid<unsigned, 8>", "Grid<unsigned int, 8ul>", "Grid<unsigned int,8u>"},
		{"Box<const char *>", "Box<char const*>"},
		{"node const*", "const node *", "const struct node *", "struct node const*"},
		{"std::unique_ptr<T>", "std::unique_ptr<T, std::default_delete<T> >"},
		{"f<void (int, long)>", "f<void (int, long int)>"},
		{"A::operator<", "A::operator<"},
		{"std::string::size", "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::size"},
		{"A<int>::operator<<", "A<int>::operator<<"},
		{"std::operator<<<char>", "std::operator<<<char,std::char_traits<char>>"},
		{"f<int>::operator<<unsigned>", "f<int>::operator<<unsigned int>"},
		{"A::operator-><long>", "A::operator-><long int>"},
		{"Map<size_t>", "Map<unsigned long>", "Map<long unsigned int>"},
	}
	seen := map[string]int{}
	for i, list := range same {
		want := Plain(list[0])
		if j, ok := seen[want]; ok {
			t.Errorf("%q is the same as %q", list[0], same[j][0])
		}
		seen[want] = i
		for _, n := range list[1:] {
			if got := Plain(n); got != want {
				t.Errorf("%q is %q, %q is %q", n, got, list[0], want)
			}
		}
		if got := Plain(want); got != want {
			t.Errorf("the plain name of %q is %q", want, got)
		}
	}
	different := []string{"std::pair<int,int>", "std::pair<int>", "My<int,std::allocator<int>>", "My<int>", "std::vector<int,Arena<int>>", "std::vector<int>"}
	for _, n := range different {
		if j, ok := seen[Plain(n)]; ok {
			t.Errorf("%q is taken for another (%d)", n, j)
		}
		seen[Plain(n)] = -1
	}
}

func TestStructors(t *testing.T) {
	for function, want := range map[string]string{
		"World::World()":                         "constructor",
		"ns::Box<int>::Box<long>(long)":          "constructor",
		"(anonymous namespace)::Box::Box(int)":   "constructor",
		"make()::Local::Local(void (*)(A::B))":   "constructor",
		"ns::Box<ns::Box<int> >::~Box()":         "destructor",
		"World":                                  "",
		"World::grow(World::World)":              "",
		"Box<World::World>::grow()":              "",
		"make(int)::{lambda()#1}::operator()()":  "",
		"World::operator~()":                     "",
		"World::World::find(int) const":          "",
		"std::vector<World>::vector":             "constructor",
		"void ns::fill<World::~World>(ns::fill)": "",
	} {
		got := ""
		if Constructs(function) {
			got = "constructor"
		}
		if Destroys(function) {
			got += "destructor"
		}
		if got != want {
			t.Errorf("%s: %q, not %q", function, got, want)
		}
	}
	if class, ok := Destroyed("ns::Box<ns::Box<int> >::~Box()"); class != "Box" || !ok {
		t.Errorf("the class is %q", class)
	}
}

func TestShort(t *testing.T) {
	for symbol, want := range map[string]string{
		"_ZN5cache3LruINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiE3putERKS6_i": "cache::Lru<std::string, int>::put(std::string const&, int)",
		"_Z4pushIiEvRSt6vectorIT_SaIS1_EES1_":                                             "void push<int>(std::vector<int>&, int)",
		"_ZN1AlsERKS_":                                                                    "A::operator<<(A const&)",
		"_ZNK1AclEv":                                                                      "A::operator()() const",
		"_ZN12_GLOBAL__N_13fooEPKc":                                                       "(anonymous namespace)::foo(char const*)",
		"_ZN4Tree6insertEi.isra.0":                                                        "Tree::insert(int) [clone .isra.0]",
		"_ZSt3mapIiSt4lessIiEE":                                                           "std::map<int>",
		"main":                                                                            "main",
		"_ZN3FooC2Ev":                                                                     "Foo::Foo()",
		"_ZN1XcvbEv":                                                                      "X::operator bool()",
		"_Z1fPFviE":                                                                       "f(void (*)(int))",
	} {
		if got := Demangle(symbol); got != want {
			t.Errorf("%s: %q, want %q", symbol, got, want)
		}
	}
}

func TestInner(t *testing.T) {
	for name, want := range map[string]string{"a::b<c::d>::e": "b<c::d>::e", "b<c::d>::e": "e", "e": "", "x<y::z>": ""} {
		got, ok := Inner(name)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %v", name, got, ok)
		}
	}
	for name, want := range map[string]string{"a<b<c>>::d<e>": "a::d", "x": "x", "a::operator<<": "a::operator<<", "a::operator->": "a::operator->"} {
		if got := WithoutArgs(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
	for name, want := range map[string]string{"a::b<c, d<e>, (f::g)2>": "a::b<c, d<e>>", "a<(f)1>": "a<(f)1>", "a<b, (f)1>::c": "a<b, (f)1>::c", "a": "a", ">": ">"} {
		if got := WithoutEnumerators(name); got != want {
			t.Errorf("%q: %q", name, got)
		}
	}
}

func TestBegins(t *testing.T) {
	for full, names := range map[string]map[string]bool{
		"Map<int,double,4>::put": {"Map<int,double>::put": true, "Map<int>::put": true, "Map::put": true, "Map<int,double,4>::put": true,
			"Map<double>::put": false, "Map<int,double,4,5>::put": false, "Map<int>": false, "Map<int>::pu": false, "Ma::put": false, "Map<4>::put": false},
		"Arena::make<Sym,int&>":         {"Arena::make<Sym>": true, "Arena::make": true, "Arena::make<int&>": false, "Arena<Sym>::make": false},
		"A<B<int,C>,D<E>>::F<G>":        {"A<B<int>>::F": true, "A<B,D>::F<G>": true, "A<B,E>::F": false, "A<D>::F": false},
		"A<int>::operator<":             {"A::operator<": true, "A::operator<<": false},
		"std::vector<std::list<int>>::": {"": false},
		"f":                             {"f": true, "f<int>": false, "": false},
	} {
		for name, want := range names {
			if got := Begins(name, full); got != want {
				t.Errorf("%q begins %q: %v", name, full, got)
			}
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a<b,c>::d", "operator<", "a<<b>", "x>", "std::vector<int,std::allocator<int>>", "<", ",", "a<b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		Plain(s)
		Short(s)
		WithoutArgs(s)
		WithoutEnumerators(s)
		Begins(WithoutArgs(s), s)
		for ok := true; ok; s, ok = Inner(s) {
		}
	})
}

// TestWithoutParams: parameters are dropped, and parentheses that are part of a name are not.
func TestWithoutParams(t *testing.T) {
	for name, want := range map[string]string{
		"up": "up", "Lru<int>::put(int)": "Lru<int>::put", "(anonymous namespace)::f": "(anonymous namespace)::f", "F::operator()(int (*)(int))": "F::operator()",
	} {
		if got := WithoutParams(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
