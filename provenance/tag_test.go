package provenance

import "testing"

// TestTags is the arithmetic of tags: p and q are addresses of two blocks.
func TestTags(t *testing.T) {
	p, q, r := address(1, atStart), address(2, anywhere), address(3, anywhere)
	inP, inQ := address(1, anywhere), address(2, anywhere)
	d := difference(1, 2)
	for _, c := range []struct {
		what      string
		got, want Tag
	}{
		{"number + number", add(None, None), None},
		{"p + number", add(p, None), address(1, part)},
		{"number + q", add(None, q), inQ},
		{"p - p", add(p, negate(p)), None},
		{"p - q", add(p, negate(q)), d},
		{"q + (p - q)", add(q, d), inP},
		{"(p - q) + q", add(d, q), inP},
		{"p - (p - q)", add(p, negate(d)), inQ},
		{"(p - q) + (q - r)", add(d, difference(2, 3)), difference(1, 3)},
		{"(p - q) + r", add(d, r), Unknown},
		{"p + q", add(p, q), Unknown},
		{"-p + p", add(negate(p), p), None},
		{"- - p", negate(negate(p)), inP},
		{"number - p", add(None, negate(p)), difference(0, 1)},
		{"unknown + p", add(Unknown, p), Unknown},
		{"p * 1", scale(p, 1), p},
		{"p * 8", scale(p, 8), Unknown},
		{"number * 8", scale(None, 8), None},
		{"p & -16", mask(p, -16), address(1, part)},
		{"p & 15", mask(p, 15), None},
		{"p & 0xffffffff", mask(p, 0xffffffff), Unknown},
		{"(p - q) & 15", mask(d, 15), Unknown},
		{"p | 1", mix(p, None), address(1, part)},
		{"the array of p | 1", mix(address(1, array), None), address(1, array)},
		{"the array of p + number", add(address(1, array), None), address(1, array)},
		{"number ^ q", mix(None, q), inQ},
		{"p ^ q", mix(p, q), Unknown},
		{"number | number", mix(None, None), None},
		{"p or p", either(p, p), p},
		{"p or another of it", either(p, inP), inP},
		{"p or a number", either(p, None), address(1, perhaps)},
		{"that - p", add(address(1, perhaps), negate(p)), None},
		{"p or q", either(p, q), Unknown},
		{"the low half of p", narrow(p), half(1)},
		{"that + number", add(None, half(1)), half(1)},
		{"that - that", add(half(1), negate(half(1))), None},
		{"p - that", add(p, negate(half(1))), None},
		{"that - the low half of q", add(half(1), negate(half(2))), Unknown},
		{"that + that", add(half(1), half(1)), Unknown},
		{"that + q", add(half(1), q), Unknown},
		{"that & 15", mask(half(1), 15), None},
		{"that * 8", scale(half(1), 8), Unknown},
		{"that | 1", mix(half(1), None), Unknown},
		{"that or p", either(half(1), p), Unknown},
		{"its own low half", narrow(half(1)), half(1)},
		{"the low half of p - q", narrow(d), d},
	} {
		if c.got != c.want {
			t.Errorf("%s: %x, want %x", c.what, uint64(c.got), uint64(c.want))
		}
	}
}

// Memory keeps tags of 4 bytes; an address is one again if it is copied whole.
func TestMemory(t *testing.T) {
	m := newMemory()
	p := address(1, atStart)
	m.set(0x1000, 8, p)
	m.set(0x1ffc, 8, p) // across pages
	m.set(0x1100, 8, Unknown)
	if m.word(0x1000, 8) != p || m.word(0x1ffc, 8) != p || m.word(0x1008, 8) != None || m.word(0x5000, 8) != None {
		t.Error("an address was lost")
	}
	if m.word(0x1004, 8) != Unknown || m.word(0x1002, 8) != Unknown || m.word(0x1000, 4) != half(1) || m.word(0xffc, 8) != Unknown {
		t.Error("a part of an address is an address")
	}
	m.fill(0x1003, 1, None)
	if m.word(0x1000, 8) != Unknown {
		t.Errorf("an address without its byte is %x", uint64(m.word(0x1000, 8)))
	}
	m.fill(0x1000, 8, None)
	if m.any(0x1000, 16) || !m.any(0x1ff0, 16) || !m.any(0x1103, 1) {
		t.Error("any")
	}
	m.set(0x1000, 8, p)
	m.move(0x1004, 0x1000, 8, nil) // overlapping
	if m.word(0x1004, 8) != p || m.word(0x1000, 8) != p {
		t.Errorf("moved: %x %x", uint64(m.word(0x1004, 8)), uint64(m.word(0x1000, 8)))
	}
	m.move(0x3000, 0x1005, 8, nil) // not on a granule
	if m.word(0x3000, 8) != Unknown {
		t.Error("an address was assembled")
	}
	m.move(0x3000, 0x4000, 8, nil)
	if m.any(0x3000, 8) {
		t.Error("tags stay where numbers were copied")
	}
}
