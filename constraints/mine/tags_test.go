package mine

import (
	"testing"

	"mgtrace/types"
)

// TestTagWord: a word is a pointer with flags where all that was seen of it leads to nodes without them, and some had them.
func TestTagWord(t *testing.T) {
	pointers := func(n int, bits ...uint64) (out []uint64) {
		for i := range n {
			out = append(out, uint64(0x1000+64*i)|bits[i%len(bits)])
		}
		return out
	}
	for _, c := range []struct {
		name    string
		words   []uint64
		astray  []uint64
		integer bool
		mask    uint64
		ok      bool
	}{
		{"a colour", pointers(10, 0, 1), nil, false, 1, true},
		{"a balance of two bits", pointers(10, 0, 2), nil, false, 3, true},
		{"the root is black", append(pointers(10, 0, 1), 1, 0), nil, true, 1, true},
		{"pointers without flags", pointers(10, 0), nil, false, 0, false},
		{"integers that are pointers", pointers(10, 0), nil, true, 0, true},
		{"of one the bits are set", pointers(10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), nil, false, 0, false},
		{"few", pointers(6, 0, 1), nil, true, 0, false},
		{"one leads nowhere", pointers(10, 0, 1), []uint64{0x77}, true, 0, false},
		{"small numbers", []uint64{0, 1, 2, 3, 4, 5, 6, 7, 1, 2, 3}, nil, true, 0, false},
	} {
		var w tagWord
		for _, x := range c.words {
			w.add(x, true)
		}
		for _, x := range c.astray {
			w.add(x, false)
		}
		if mask, ok := w.mask(c.integer); mask != c.mask || ok != c.ok {
			t.Errorf("%s: %d, %t", c.name, mask, ok)
		}
	}
}

// TestMayHaveTag: what leads to bytes may lead to any of them.
func TestMayHaveTag(t *testing.T) {
	node := &types.Type{Kind: types.Struct, Size: 24}
	for _, c := range []struct {
		typ  *types.Type
		want bool
	}{
		{&types.Type{Kind: types.Pointer, Size: 8, Elem: node}, true},
		{&types.Type{Kind: types.Uint, Size: 8}, true},
		{&types.Type{Kind: types.Pointer, Size: 8, Elem: &types.Type{Kind: types.Int, Size: 1}}, false},
		{&types.Type{Kind: types.Uint, Size: 4}, false},
		{&types.Type{Kind: types.Enum, Size: 8}, false},
	} {
		if got := mayHaveTag(&types.Scalar{Type: c.typ, Size: c.typ.Size}); got != c.want {
			t.Errorf("%v: %t", c.typ, got)
		}
	}
}
