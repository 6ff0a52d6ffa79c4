package mgpp_test

import (
	"fmt"

	"mgtrace/mgpp"
	"mgtrace/mgpp/coded"
	"mgtrace/trace"
)

// list is a history of a list of two nodes that loses its second.
func list() *mgpp.History {
	h := mgpp.New(mgpp.Options{})
	for _, line := range []string{
		`alloc pc=0x401136 addr=0x1000 size=16 name="malloc"`,
		`alloc pc=0x401150 addr=0x1020 size=16 name="malloc"`,
		`store pc=0x401160 addr=0x1000 base=0x1000 data=2010000000000000`,
		`store pc=0x401174 addr=0x1000 base=0x1000 data=0000000000000000`,
	} {
		e, err := trace.ParseText(line)
		if err != nil {
			panic(err)
		}
		if _, err := h.Apply(&e); err != nil {
			panic(err)
		}
	}
	return h
}

// The graph at two times: node 1 points to node 2, and then does not.
func ExampleHistory_At() {
	h := list()
	for _, t := range []mgpp.Timestamp{3, 4} {
		target := h.At(t).Target(0x1000, coded.Plain)
		fmt.Println(t, target.State == mgpp.Points, target.Node)
	}
	// Output:
	// 3 true 2
	// 4 false 0
}

// Who wrote this cell, and who before that?
func ExampleHistory_LastWrite() {
	h := list()
	for t := h.LastWrite(0x1000, 8, h.Now()); t != 0; t = h.LastWrite(0x1000, 8, t-1) {
		fmt.Printf("at %d by %#x\n", t, h.Op(t).PC)
	}
	// Output:
	// at 4 by 0x401174
	// at 3 by 0x401160
}

// What if the last store had not happened?
func ExampleHistory_Without() {
	h := list()
	v := h.Without(h.At(4), 4)
	fmt.Println(v.Target(0x1000, coded.Plain).Node)
	// Output: 2
}

// What if it had stored another value?
func ExampleWith() {
	h := list()
	v := mgpp.With(h.At(4), 0x1000, []byte{0x28, 0x10, 0, 0, 0, 0, 0, 0})
	target := v.Target(0x1000, coded.Plain)
	fmt.Println(target.Node, target.Offset)
	// Output: 2 8
}

// Every change, forward.
func ExampleHistory_Cursor() {
	c := list().Cursor(2)
	for s, ok := c.Forward(); ok; s, ok = c.Forward() {
		for _, x := range s.Changes {
			fmt.Printf("%#x: %x -> %x\n", x.Addr, x.Old.Data, x.New.Data)
		}
	}
	// Output:
	// 0x1000: 0000000000000000 -> 2010000000000000
	// 0x1000: 2010000000000000 -> 0000000000000000
}
