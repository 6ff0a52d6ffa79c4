package cxxname

import (
	"slices"
	"testing"
)

var symbols = []string{
	"insert",                                   // C
	"_ZN4Tree6insertEi", "_ZN4Tree6insertEPKc", // Tree::insert(int), Tree::insert(char const*)
	"_ZN5cache3LruINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiE3putERKS6_i", // cache::Lru<std::string, int>::put(std::string const&, int)
	"_Z4pushIiEvRSt6vectorIT_SaIS1_EES1_",                                             // void push<int>(std::vector<int>&, int)
	"add.isra.0",
	"_ZStlsISt11char_traitsIcEERSt13basic_ostreamIcT_ES5_PKc", // std::basic_ostream<…>& std::operator<< <…>(…)
	"_ZSt11make_uniqueI4NodeJRiEENSt8__detail9_MakeUniqIT_E15__single_objectEDpOT0_",
	"_ZStlsIcSt11char_traitsIcEERSt13basic_ostreamIT_T0_ES6_NSt6thread2idE",
	"_ZZNK4Plan5applyB5cxx11EiENKUliE_clEi", // Plan::apply[abi:cxx11](int) const::{lambda(int)#1}::operator()(int) const
	"_ZN4Plan4nameB5cxx11Ev",                // Plan::name[abi:cxx11]()
	"_ZN4Plan5titleB5cxx11IiEESsT_",         // std::string Plan::title[abi:cxx11]<int>(int)
	"_Z6invokeIZN4TreeaSEOS0_EUliE_EvOT_i",  // void invoke<Tree::operator=(Tree&&)::{lambda(int)#1}>(…, int)
}

func TestFind(t *testing.T) {
	var names, pretty []Name
	for _, s := range symbols {
		names = append(names, Of(s))
		pretty = append(pretty, Of(Demangle(s)))
	}
	for pattern, want := range map[string][]int{
		"insert":                            {0},
		"Tree::insert":                      {1, 2},
		"Tree::insert(int)":                 {1},
		"insert(const char *)":              {2},
		"Tree::*":                           {1, 2},
		"put":                               {3},
		"Lru::put":                          {3},
		"cache::Lru<std::string, int>::put": {3},
		"Lru<*>::put":                       {3},
		"Lru<std::string,int>::put(const std::string &, int)": {3},
		"Lru<int, int>::put":           nil,
		"Lru<std::string>::put":        {3},
		"cache::Lru<std::string>::put": {3},
		"std::make_unique<Node>":       {7},
		"make_unique<Node, int>":       nil,
		"push":                         {4},
		"push<int>":                    {4},
		"push(std::vector<int>&, int)": {4},
		"add":                          {5},
		"_ZN4Tree6insertEi":            {1},
		// What is shown is found.
		"std::basic_ostream<char>& std::operator<< <std::char_traits<char> >(std::basic_ostream<char>&, char const*)": {6},
		"std::basic_ostream<char>& std::operator<< <char>(std::basic_ostream<char>&, std::thread::id)":                {8},
		"operator<<": {6, 8},
		// gcc's tags may be left out.
		"Plan::name":              {10},
		"name()":                  {10},
		"Plan::name[abi:cxx11]":   {10},
		"Plan::name[abi:cxx11]()": {10},
		"Plan::title<int>":        {11},
		"Plan::title":             {11},
		"Plan::title[abi:cxx11]":  {11},
		"remove":                  nil,
	} {
		check(t, pattern, Find(pattern, names), want)
		check(t, pattern+", indexed", indexed(pattern, names), want)
		if pattern == "add" { // the demangler does not know a C clone
			continue
		}
		check(t, pattern+", demangled", Find(pattern, pretty), want)
	}
}

// indexed is Find by way of an index: each that is meant has to be a candidate.
func indexed(pattern string, names []Name) []int {
	var funcs [][]Name
	for _, n := range names {
		funcs = append(funcs, []Name{n})
	}
	p := Parse(pattern)
	candidates := NewIndex(funcs).Candidates(&p)
	return Closest(func(how Closeness) (found []int) {
		for _, i := range candidates {
			if p.Match(&names[i], how) {
				found = append(found, i)
			}
		}
		return found
	})
}

func check(t *testing.T, pattern string, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", pattern, got, want)
	}
}

// What is shown is a pattern for itself.
func TestShown(t *testing.T) {
	for _, s := range symbols {
		if got := Find(Demangle(s), []Name{Of(s)}); len(got) != 1 {
			t.Errorf("%s: %s does not mean it", s, Demangle(s))
		}
		if got := Find(Demangle(s), []Name{Of(Demangle(s))}); len(got) != 1 {
			t.Errorf("%s: %s does not mean what is shown so", s, Demangle(s))
		}
	}
}

// FuzzPattern feeds patterns and symbols to the matcher.
func FuzzPattern(f *testing.F) {
	f.Add("List<*>::push(int, const char *)", "_ZN1AIiE4pushEiPKc")
	f.Add("operator*", "_ZmlRK1AS1_")
	f.Add("f(*)", "f.isra.0.cold")
	f.Fuzz(func(t *testing.T, pattern, symbol string) {
		Find(pattern, []Name{Of(symbol)})
		_ = IsCold(symbol)
	})
}
