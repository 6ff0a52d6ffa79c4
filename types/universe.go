package types

import (
	"sort"
	"sync"

	"mgtrace/cxxname"
)

// A Loader finds types on demand, for example in debug information, where
// converting every type up front would cost far more than the few that a
// specification names. Names given to it are normal (cxxname.Normal).
type Loader interface {
	LookupType(name string) []*Type
	TypeNames() []string
	Const(name string) (int64, bool)
}

// Universe is a set of types by name: what was added to it, and behind that
// what a Loader knows. An added name hides the loader's types of that name, so
// that a declaration written by hand overrides debug information. The zero
// Universe is empty and ready to use; a Universe may be used concurrently.
type Universe struct {
	loader Loader

	mu     sync.RWMutex
	types  map[string][]*Type
	consts map[string]int64
}

// NewUniverse returns a universe over l, which may be nil.
func NewUniverse(l Loader) *Universe { return &Universe{loader: l} }

// Lookup returns the types of a name: a tag, a typedef's name or a qualified
// C++ name, with or without "struct", "class", "union" or "enum" in front, and
// spaced as the writer likes. Several types share a name when compilation
// units define it differently. Nil if there is none.
func (u *Universe) Lookup(name string) []*Type {
	name = cxxname.Normal(name)
	u.mu.RLock()
	added := u.types[name]
	u.mu.RUnlock()
	if len(added) > 0 {
		return append([]*Type(nil), added...)
	}
	if u.loader == nil {
		return nil
	}
	return u.loader.LookupType(name)
}

// Names returns every name that Lookup finds, sorted.
func (u *Universe) Names() []string {
	seen := map[string]bool{}
	u.mu.RLock()
	for name := range u.types {
		seen[name] = true
	}
	u.mu.RUnlock()
	if u.loader != nil {
		for _, name := range u.loader.TypeNames() {
			seen[name] = true
		}
	}
	names := make([]string, 0, len(seen))
	for name := range seen {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Add makes t known by name, beside what was added by that name before. The
// enumerators of an enumeration become constants.
func (u *Universe) Add(name string, t *Type) {
	name = cxxname.Normal(name)
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, have := range u.types[name] {
		if have == t {
			return
		}
	}
	if u.types == nil {
		u.types = map[string][]*Type{}
	}
	u.types[name] = append(u.types[name], t)
	for _, e := range t.Enumerators {
		u.setConst(e.Name, e.Value)
	}
}

// AddConst makes a named constant known.
func (u *Universe) AddConst(name string, value int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.setConst(name, value)
}

func (u *Universe) setConst(name string, value int64) {
	if u.consts == nil {
		u.consts = map[string]int64{}
	}
	u.consts[name] = value
}

// Const returns the value of an enumerator or added constant.
func (u *Universe) Const(name string) (int64, bool) {
	u.mu.RLock()
	v, ok := u.consts[name]
	u.mu.RUnlock()
	if ok || u.loader == nil {
		return v, ok
	}
	return u.loader.Const(name)
}
