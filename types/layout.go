package types

import (
	"strconv"
	"strings"
)

// MaxScalars is how many fields Scalars lists at most: a type with a larger
// array inside is asked by NumScalars and ScalarN.
const MaxScalars = 1 << 16

// maxNesting bounds the walk over types whose members nest without end, which
// only damaged debug information has.
const maxNesting = 64

// Scalars returns the fields of t in the order of the constraint language:
// arrays and nested structures flattened, bases first, a union one field, a
// flexible array none. It is computed once; do not change it.
func (t *Type) Scalars() []Scalar {
	if p := t.flat.Load(); p != nil {
		return *p
	}
	w := flattener{limit: MaxScalars}
	w.walk(t, "", 0, 0)
	t.qualifyHidden(w.out)
	t.flat.Store(&w.out)
	return w.out
}

// NumScalars returns the number of fields of t, without listing them.
func (t *Type) NumScalars() int64 { return t.sum(0).scalars }

// facts sums up the fields of a type. It is kept with the type, because types
// that share members would else be walked a number of times that doubles with
// each level.
type facts struct {
	scalars  int64 // as Scalars would list
	pointers bool  // some field is a pointer, those within unions included
}

func (t *Type) sum(depth int) facts {
	if t == nil || depth > maxNesting {
		return facts{}
	}
	if f := t.facts.Load(); f != nil {
		return *f
	}
	f := facts{scalars: 1, pointers: t.Kind == Pointer}
	switch t.Kind {
	case Void, Func:
		f.scalars = 0
	case Opaque: // one that is only declared, as std::string is by clang: where it ends is not known
		if t.Size < 0 {
			f.scalars = 0
		}
	case Array:
		f = t.Elem.sum(depth + 1)
		f.scalars *= max(t.Count, 0)
	case Struct, Union:
		f.scalars = 0
		for _, m := range t.Members {
			if m.Offset >= 0 {
				of := m.Type.sum(depth + 1)
				f.scalars += of.scalars
				f.pointers = f.pointers || of.pointers
			}
		}
		if t.Kind == Union {
			f.scalars = min(1, t.Size)
		}
	}
	t.facts.Store(&f)
	return f
}

// ScalarN returns X[n], n from 1.
func (t *Type) ScalarN(n int64) (Scalar, bool) {
	if n < 1 {
		return Scalar{}, false
	}
	if n <= MaxScalars {
		if s := t.Scalars(); n <= int64(len(s)) {
			return s[n-1], true
		}
		return Scalar{}, false
	}
	if n > t.NumScalars() {
		return Scalar{}, false
	}
	w := flattener{limit: 1, skip: n - 1}
	w.walk(t, "", 0, 0)
	if len(w.out) == 0 {
		return Scalar{}, false
	}
	return w.out[0], true
}

// PointerFields returns the pointers of t in order of their fields, whatever
// they point to, virtual-table pointers excepted. A pointer within a union is
// among them (Scalar.Union), one for each place.
func (t *Type) PointerFields() []Scalar {
	w := flattener{limit: MaxScalars, pointers: true, seen: map[int64]bool{}}
	w.walk(t, "", 0, 0)
	t.qualifyHidden(w.out)
	return w.out
}

// flattener walks a type in field order and collects scalars.
type flattener struct {
	out      []Scalar
	limit    int
	skip     int64 // fields to pass over first
	pointers bool  // collect pointers only, and look into unions
	verbatim bool  // name a smart pointer's fields as they are
	inUnion  bool
	seen     map[int64]bool // offsets of pointers found in unions
}

func (w *flattener) full() bool { return len(w.out) >= w.limit }

func (w *flattener) walk(t *Type, path string, offset int64, depth int) {
	if t == nil || depth > maxNesting || w.full() {
		return
	}
	switch has := t.sum(depth); {
	case w.pointers && !has.pointers, !w.pointers && has.scalars == 0:
		return
	case w.skip > 0 && has.scalars <= w.skip:
		w.skip -= has.scalars
		return
	}
	switch {
	case t.Kind == Struct, t.Kind == Union && w.pointers:
		from := len(w.out)
		w.members(t, path, offset, depth)
		w.nameSmart(t, path, offset, w.out[from:])
	case t.Kind == Array:
		w.elements(t, path, offset, depth)
	default:
		w.emit(Scalar{Path: path, Offset: offset, Size: t.Stored(), Type: t})
	}
}

// members walks a struct's bases, then its own members. A union's members all
// lie at its start.
func (w *flattener) members(t *Type, path string, offset int64, depth int) {
	if t.Kind == Union {
		defer func(old bool) { w.inUnion = old }(w.inUnion)
		w.inUnion = true
	}
	for _, base := range [2]bool{true, false} {
		for i := range t.Members {
			m := &t.Members[i]
			if m.Base != base || m.Offset < 0 || m.Type == nil || w.full() {
				continue
			}
			w.member(m, path, offset, depth)
		}
	}
}

// nameSmart gives the pointer of a smart pointer the name of the whole.
func (w *flattener) nameSmart(t *Type, path string, offset int64, fields []Scalar) {
	if w.verbatim || path == "" || len(fields) == 0 {
		return
	}
	p, ok := t.Smart()
	if !ok {
		return
	}
	_, end, _ := t.Vector()
	for i := range fields {
		if fields[i].Offset == offset+p.Offset {
			if fields[i].Member == "" {
				fields[i].Member = fields[i].Path[strings.LastIndexByte(fields[i].Path, '.')+1:]
			}
			fields[i].Path = path
			if end.Type != nil {
				fields[i].End = end.Offset - p.Offset
			}
		}
	}
}

func (w *flattener) member(m *Member, path string, offset int64, depth int) {
	switch {
	case m.BitSize > 0:
		first := int64(m.BitOffset) / 8
		bit := m.BitOffset % 8
		w.emit(Scalar{Path: dot(path, m.Name), Offset: offset + m.Offset + first, Size: int64(bit+m.BitSize+7) / 8,
			BitOffset: bit, BitSize: m.BitSize, Type: m.Type})
	case m.VTable:
		w.emit(Scalar{Path: dot(path, m.Name), Offset: offset + m.Offset, Size: m.Type.Size, Type: m.Type, VTable: true})
	case m.Base:
		w.walk(m.Type, path, offset+m.Offset, depth+1)
	case m.Name == "" && m.Type.Kind == Union && !w.pointers:
		w.walk(m.Type, dot(path, m.Type.alternatives()), offset+m.Offset, depth+1)
	case m.Name == "":
		w.walk(m.Type, path, offset+m.Offset, depth+1)
	default:
		w.walk(m.Type, dot(path, m.Name), offset+m.Offset, depth+1)
	}
}

func (w *flattener) elements(t *Type, path string, offset int64, depth int) {
	if t.Count <= 0 || t.Elem == nil {
		return
	}
	i := int64(0)
	if per := t.Elem.sum(depth + 1).scalars; w.skip > 0 && per > 0 {
		i = w.skip / per
		w.skip %= per
	}
	for ; i < t.Count && !w.full(); i++ {
		w.walk(t.Elem, path+"["+strconv.FormatInt(i, 10)+"]", offset+i*t.Elem.Size, depth+1)
	}
}

func (w *flattener) emit(s Scalar) {
	switch {
	case w.skip > 0:
		w.skip--
		return
	case w.pointers && (s.Type.Kind != Pointer || s.VTable):
		return
	case w.inUnion:
		if w.seen[s.Offset] {
			return
		}
		w.seen[s.Offset] = true
		s.Union = true
	}
	w.out = append(w.out, s)
}

// alternatives names an anonymous union by its members: "i|f".
func (t *Type) alternatives() string {
	var names []string
	for _, m := range t.Members {
		if m.Name != "" {
			names = append(names, m.Name)
		}
	}
	return strings.Join(names, "|")
}

// Within names a member of a union that Scalars lists by a path: of an anonymous one, which is listed by its members' names,
// as C names it.
func (t *Type) Within(path, member string) string {
	if rest, ok := strings.CutSuffix(path, t.alternatives()); ok && (rest == "" || strings.HasSuffix(rest, ".")) {
		return dot(strings.TrimSuffix(rest, "."), member)
	}
	return dot(path, member)
}

// qualifyHidden writes "Base::x" for fields of bases whose plain name means
// another field of t.
func (t *Type) qualifyHidden(fields []Scalar) {
	for _, m := range t.Members {
		if !m.Base || m.Offset < 0 || m.Type == nil || m.Type.Size <= 0 || m.Type.Name == "" {
			continue
		}
		for i := range fields {
			s := &fields[i]
			if s.Offset < m.Offset || s.Offset >= m.Offset+m.Type.Size || strings.Contains(s.Path, "::") {
				continue
			}
			own, err := t.Find(s.Path)
			if err != nil || own.Offset == s.Offset && own.BitOffset == s.BitOffset {
				continue
			}
			if base, err := m.Type.Find(s.Path); err == nil && base.Offset+m.Offset == s.Offset {
				s.Path = m.Type.Name + "::" + s.Path
			}
		}
	}
}

func dot(path, name string) string {
	if path == "" {
		return name
	}
	if name == "" {
		return path
	}
	return path + "." + name
}
