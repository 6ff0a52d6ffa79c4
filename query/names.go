package query

import (
	"fmt"
	"iter"
	"slices"
	"sort"
	"strings"

	"mgtrace/mgpp"
	"mgtrace/trace"
	"mgtrace/types"
)

// Typed is the type of the nodes of an origin, or of a global.
type Typed struct {
	Name   string      // "qdtree", "" where nothing tells
	Type   *types.Type // nil: unknown
	Array  bool        // a node holds as many of them as fit
	Offset int64       // of the first in the node, bytes
	Why    string      // what told, or why nothing did
}

// Typing knows the types of nodes.
type Typing interface {
	OfOrigin(i int) Typed          // i as Origins numbers them, not 0
	OfGlobal(trace.GlobalID) Typed // its Name is that of the global
}

// Names gives the nodes of a history types and names. It is not safe for
// concurrent use.
type Names struct {
	Entry func(trace.Addr) string // names the function that begins at an address, "" where none does; nil: none is known

	hist    History
	origins Origins
	typing  Typing

	typed   []Typed // by origin
	known   []bool
	globals map[trace.GlobalID]Typed
	groups  map[string][]int // origins by the name of their nodes; nil: not made yet
}

// NewNames returns the names of a history.
func NewNames(h History, o Origins, t Typing) *Names {
	return &Names{hist: h, origins: o, typing: t, typed: make([]Typed, o.Count()), known: make([]bool, o.Count()), globals: map[trace.GlobalID]Typed{}}
}

// History is what is named.
func (n *Names) History() History { return n.hist }

func (n *Names) ofOrigin(i int) Typed {
	if !n.known[i] {
		n.known[i] = true
		if i > 0 {
			n.typed[i] = n.typing.OfOrigin(i)
		}
	}
	return n.typed[i]
}

// global is the number of a node that is a declared object, else 0.
func (n *Names) global(id mgpp.NodeID) trace.GlobalID {
	if n.origins.Of(id) != 0 { // an allocator made it
		return 0
	}
	return n.hist.Node(id).Global
}

// Type returns what a node is.
func (n *Names) Type(id mgpp.NodeID) Typed {
	if g := n.global(id); g != 0 {
		t, ok := n.globals[g]
		if !ok {
			t = n.typing.OfGlobal(g)
			n.globals[g] = t
		}
		return t
	}
	return n.ofOrigin(n.origins.Of(id))
}

// Name names a node: "qdtree#17", "::root", "block#5".
func (n *Names) Name(id mgpp.NodeID) string {
	if id == 0 {
		return "NULL"
	}
	t := n.Type(id)
	switch {
	case n.global(id) != 0:
		return "::" + t.Name
	case t.Name == "":
		return fmt.Sprintf("block#%d", id)
	}
	return fmt.Sprintf("%s#%d", t.Name, n.rank(n.group(t.Name), id))
}

// group lists the origins whose nodes have a name.
func (n *Names) group(name string) []int {
	if n.groups == nil {
		n.groups = map[string][]int{}
		for i := range n.origins.Count() {
			if t := n.ofOrigin(i); t.Name != "" {
				n.groups[t.Name] = append(n.groups[t.Name], i)
			}
		}
	}
	return n.groups[name]
}

func (n *Names) rank(group []int, id mgpp.NodeID) int {
	r := 0
	for _, o := range group {
		r += n.origins.Rank(o, id)
	}
	return r
}

// Types lists the names of nodes with how many of each there ever were.
func (n *Names) Types() map[string]int {
	out := map[string]int{}
	n.group("")
	for name, group := range n.groups {
		out[name] = n.rank(group, mgpp.NodeID(n.hist.NodeCount()))
	}
	return out
}

// Node finds a node by its name.
func (n *Names) Node(name string, number int) (mgpp.NodeID, error) {
	last := mgpp.NodeID(n.hist.NodeCount())
	if name == "block" && len(n.group(name)) == 0 {
		if number > int(last) {
			return 0, fmt.Errorf("block#%d: there were %d blocks", number, last)
		}
		return mgpp.NodeID(number), nil
	}
	group := n.group(name)
	count := n.rank(group, last)
	switch {
	case count == 0:
		return 0, fmt.Errorf("%s#%d: there is no such node: %s", name, number, n.suggest(name))
	case number > count:
		return 0, fmt.Errorf("%s#%d: there is no such node: %d of type %s were allocated", name, number, count, name)
	}
	i := sort.Search(int(last), func(i int) bool { return n.rank(group, mgpp.NodeID(i+1)) >= number })
	return mgpp.NodeID(i + 1), nil
}

// suggest says for an unknown name which there are.
func (n *Names) suggest(name string) string {
	all := n.Types()
	if len(all) == 0 {
		return "no allocation shows its type (was the program compiled with -g?); blocks are block#N"
	}
	names := make([]string, 0, len(all))
	for k := range all {
		names = append(names, k)
	}
	slices.SortFunc(names, func(a, b string) int {
		if x := all[b] - all[a]; x != 0 {
			return x
		}
		return strings.Compare(a, b)
	})
	for i, k := range names {
		if strings.EqualFold(k, name) {
			return fmt.Sprintf("did you mean %s#…?", k)
		}
		names[i] = fmt.Sprintf("%s (%d)", k, all[k])
	}
	more := ""
	if len(names) > 8 {
		names, more = names[:8], ", …"
	}
	return "there are " + strings.Join(names, ", ") + more
}

// declared gives the declared objects, which come before what the program allocates.
func (n *Names) declared() iter.Seq[mgpp.NodeID] {
	return func(yield func(mgpp.NodeID) bool) {
		for id := mgpp.NodeID(1); int(id) <= n.hist.NodeCount(); id++ {
			node := n.hist.Node(id)
			if node.Global == 0 && node.Birth > 0 || node.Global != 0 && !yield(id) {
				return
			}
		}
	}
}

// Global finds a declared object by its name.
func (n *Names) Global(name string) (mgpp.NodeID, error) {
	var have []string
	for id := range n.declared() {
		t := n.Type(id)
		if t.Name == name {
			return id, nil
		}
		have = append(have, "::"+t.Name)
	}
	if len(have) == 0 {
		return 0, fmt.Errorf("::%s was not recorded: record again with --global %s", name, name)
	}
	return 0, fmt.Errorf("::%s was not recorded (only %s): record again with --global %s", name, strings.Join(have, ", "), name)
}
