package flow

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPiece(t *testing.T) {
	for _, c := range []struct {
		name, code string
		insts      []Inst
		accesses   []Access
	}{
		{"push, load, call", "55 488b4708 e800000000 90", []Inst{{0, 1, 1, 0}, {1, 4, 1, 1}, {5, 5, 1, 2}},
			[]Access{{8, Writes | Stack}, {8, Reads}, {8, Writes | Stack}}},
		{"rep movs", "f3a4 c3", []Inst{{0, 2, 2, 0}, {2, 1, 1, 2}}, []Access{{0, Reads}, {0, Writes}, {8, Reads | Stack}}},
		{"read and write", "48ff00 0f05 90", []Inst{{0, 3, 1, 0}, {3, 2, 0, 1}}, []Access{{8, Reads | Writes}}},
		{"up to what is not known", "90 0f04", []Inst{{0, 1, 0, 0}}, nil},
		{"gather", "c4e2f19204c7 c3", []Inst{{0, 6, 2, 0}, {6, 1, 1, 2}}, []Access{{0, Reads}, {0, Reads}, {8, Reads | Stack}}},
		{"conditional", "7500 c3", []Inst{{0, 2, 0, 0}}, nil},
	} {
		code := unhex(c.code)
		b, err := Piece(0x1000, code)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.insts, b.Insts) + cmp.Diff(c.accesses, b.Accesses); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
		if err := b.check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if _, err := Piece(0, []byte{0x0f, 0x04}); !errors.Is(err, ErrNoCode) {
		t.Errorf("what is no instruction: %v", err)
	}
	if _, err := Piece(0, nil); !errors.Is(err, ErrNoCode) {
		t.Errorf("no code: %v", err)
	}
}

func unhex(s string) (b []byte) {
	var digits []byte
	for _, c := range []byte(s) {
		if c != ' ' {
			digits = append(digits, c)
		}
	}
	b, err := hex.DecodeString(string(digits))
	if err != nil {
		panic(err)
	}
	return b
}
