package eval

import "mgtrace/constraints/graph"

// memo is what is known of an attribute, by object. On the history's own views it is mostly known of all nodes: then it is
// looked up as in an array, and copied as one, the pieces of which are made as they are needed.
type memo struct {
	few   map[graph.ObjID]entry // instead, where it is to be known of few: nil, it is not
	pages []*memoPage
	used  []uint32 // which of them there are
	known int
}

// memoPage is what is known of neighbouring objects.
type memoPage [1 << memoShift]memoEntry

const memoShift = 4

type memoEntry struct {
	entry
	is bool
}

func (m *memo) get(o graph.ObjID) (entry, bool) {
	if m.few != nil {
		en, ok := m.few[o]
		return en, ok
	}
	if at := int(o >> memoShift); at < len(m.pages) && m.pages[at] != nil {
		e := &m.pages[at][o&(1<<memoShift-1)]
		return e.entry, e.is
	}
	return entry{}, false
}

func (m *memo) set(o graph.ObjID, en entry) {
	if m.few != nil {
		m.few[o] = en
		return
	}
	at := int(o >> memoShift)
	if at >= len(m.pages) {
		m.pages = append(m.pages, make([]*memoPage, at+1-len(m.pages))...)
	}
	if m.pages[at] == nil {
		m.pages[at] = new(memoPage)
		m.used = append(m.used, uint32(at))
	}
	e := &m.pages[at][o&(1<<memoShift-1)]
	if !e.is {
		m.known++
	}
	*e = memoEntry{en, true}
}

func (m *memo) forget(o graph.ObjID) {
	if m.few != nil {
		delete(m.few, o)
		return
	}
	if at := int(o >> memoShift); at < len(m.pages) && m.pages[at] != nil {
		e := &m.pages[at][o&(1<<memoShift-1)]
		if e.is {
			m.known--
		}
		*e = memoEntry{}
	}
}

// empty forgets all. It costs what was ever known.
func (m *memo) empty() {
	clear(m.few)
	for _, at := range m.used {
		m.pages[at] = nil
	}
	m.used, m.known = m.used[:0], 0
}

// copyTo gives another, which knows nothing, what m knows: both of views of the history's own.
func (m *memo) copyTo(to *memo) {
	*to = memo{pages: make([]*memoPage, len(m.pages)), used: append([]uint32(nil), m.used...), known: m.known}
	pages := make([]memoPage, len(m.used))
	for i, at := range m.used {
		pages[i] = *m.pages[at]
		to.pages[at] = &pages[i]
	}
}
