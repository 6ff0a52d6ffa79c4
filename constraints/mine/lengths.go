package mine

import (
	"fmt"
	"slices"
	"strings"
)

// containerSizes are what libstdc++ keeps in a list, in a map or set, and in a hash table as the number of elements.
var containerSizes = [...]string{"_M_size", "_M_node_count", "_M_element_count"}

// containerSize reports whether a path leads to the number of elements of a container of the C++ library that is a member of the node.
func containerSize(path string) bool {
	return internal(path) && slices.Contains(containerSizes[:], path[strings.LastIndexByte(path, '.')+1:])
}

// container names the one of which a size is.
func (f *field) container() string {
	name, _, _ := strings.Cut(f.name, "._M_")
	return name
}

// lengthsOf: the number of elements of a container is what a number of the node says, that of another container, or how many nodes there are of
// a type; or no such container is ever empty. What one says that has as many as another one is not said again of the other.
func (m *maker) lengthsOf(others []*portrait) {
	for i, s := range m.lengths {
		of := "the number of elements of " + s.container()
		if s.min == 1 {
			m.bounds(s)
		}
		for _, f := range m.fields {
			if f.counts() {
				m.compare(fmt.Sprintf("pair %s == %s", f.name, s.name), f.name+" is "+of, "", "X."+f.name, "==", "X."+s.name, 0)
			}
		}
		for j, o := range m.lengths[i+1:] {
			c := m.compare(fmt.Sprintf("pair %s == %s", s.name, o.name), s.container()+" has as many elements as "+o.container(), "", "X."+s.name, "==", "X."+o.name, 0)
			for _, third := range m.lengths[i+1+j+1:] {
				c.because(fmt.Sprintf("pair %s == %s", o.name, third.name))
			}
			for _, t := range others {
				c.because("total " + o.name + " " + t.name())
			}
		}
		for _, o := range others {
			if t := o.name(); t != m.name && !o.typ.Array {
				m.compare("total "+s.name+" "+t, of+" is that of "+t, "", "X."+s.name, "==", fmt.Sprintf("COUNT(%s)", t), 0)
			}
		}
	}
}
