package query_test

import (
	"fmt"

	"mgtrace/mgpp"
	"mgtrace/query"
	"mgtrace/trace"
	"mgtrace/types"
)

// lists types every block as a list.
type lists struct{ list *types.Type }

func (l lists) OfOrigin(int) query.Typed { return query.Typed{Name: "list", Type: l.list} }

func (l lists) OfGlobal(trace.GlobalID) query.Typed { return query.Typed{} }

// Which statements wrote a field, the last one first?
func ExampleNames_Writers() {
	h := mgpp.New(mgpp.Options{})
	for _, line := range []string{
		`alloc pc=0x401136 addr=0x1000 size=16 name="malloc" stack=0x401136`,
		`alloc pc=0x401136 addr=0x1020 size=16 name="malloc" stack=0x401136`,
		`store pc=0x401160 addr=0x1008 base=0x1000 data=2010000000000000`,
		`store pc=0x401174 addr=0x1008 base=0x1000 data=0000000000000000`,
	} {
		e, err := trace.ParseText(line)
		if err != nil {
			panic(err)
		}
		if _, err := h.Apply(&e); err != nil {
			panic(err)
		}
	}
	decls, _ := types.ParseC("struct list { long key; struct list *next; };")
	origins, _ := query.CountOrigins(h)
	n := query.NewNames(h, origins, lists{decls.Lookup("list")})

	p, _ := query.ParsePath("list#1.next")
	c, err := n.Resolve(p, h.At(h.Now()))
	if err != nil {
		panic(err)
	}
	for w := range n.Writers(c, h.Now()) {
		fmt.Printf("change %d, %#x: %s\n", w.Op.Time, uint64(w.Op.PC), w.What)
	}
	// Output:
	// change 4, 0x401174: list#2 → NULL
	// change 3, 0x401160: never written → list#2
	// change 1, 0x401136: list#1 was allocated, 16 bytes
}

// A time as a user writes it.
func ExampleParseTime() {
	t, err := query.ParseTime("call 511 of insert")
	fmt.Println(t.Kind == query.AtCall, t.N, t.Func, err)
	_, err = query.ParseTime("crashed")
	fmt.Println(err != nil)
	// Output:
	// true 511 insert <nil>
	// true
}
