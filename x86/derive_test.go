package x86

import (
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
)

func (p Place) String() string {
	switch p.Kind {
	case InGeneral:
		return fmt.Sprintf("r%d", p.Reg)
	case InVector:
		return fmt.Sprintf("v%d.%d", p.Reg, p.Word)
	case InMemory:
		return fmt.Sprintf("m%d.%d", p.Reg, p.Word)
	}
	return "-"
}

func (d *Derived) text() string {
	switch d.How {
	case HowOther:
		return "other"
	case HowCopy:
		var s []string
		for _, w := range d.Words[:d.N] {
			s = append(s, w[0].String()+"="+w[1].String())
		}
		return "copy " + strings.Join(s, " ")
	case HowAdd:
		return fmt.Sprintf("%s=%s+%s*%d%+d (%d)", d.To, d.A, d.B, d.Scale, d.Const, d.Width)
	case HowSub:
		return fmt.Sprintf("%s=%s-%s (%d)", d.To, d.A, d.B, d.Width)
	case HowNegate:
		return fmt.Sprintf("%s=-%s (%d)", d.To, d.A, d.Width)
	case HowAnd:
		return fmt.Sprintf("%s=%s&%s %d (%d)", d.To, d.A, d.B, d.Const, d.Width)
	case HowMix:
		return fmt.Sprintf("%s=%s^%s %d (%d)", d.To, d.A, d.B, d.Const, d.Width)
	case HowSelect:
		return fmt.Sprintf("%s=%s? (%d)", d.To, d.A, d.Width)
	case HowSwap:
		return fmt.Sprintf("%s<>%s %v (%d)", d.To, d.A, d.Add, d.Width)
	case HowString:
		return fmt.Sprintf("%s==%s", d.To, d.A)
	}
	return "?"
}

// TestDerive reads lines of bytes, text and how the value comes about; -update writes
// the last anew.
func TestDerive(t *testing.T) {
	const golden = "testdata/derive.golden"
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for line := range strings.Lines(string(b)) {
		code, err := hex.DecodeString(strings.ReplaceAll(strings.SplitN(line, "  ", 2)[0], " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		in, err := Decode(code[:len(code):len(code)], 0x1000)
		if err != nil || in.Len != len(code) {
			t.Fatalf("%s: %v", line, err)
		}
		var d Derived
		in.Derive(&d)
		fmt.Fprintf(&out, "% x  %s  %s\n", code, strings.TrimSpace(strings.SplitN(line+"  ", "  ", 3)[1]), d.text())
		var e Effects
		in.Effects(&e)
		d.mustAgree(t, line, &e)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if out.String() != string(b) {
		t.Errorf("got\n%s", out.String())
	}
}

// mustAgree: what is derived is among what the effects have.
func (d *Derived) mustAgree(t *testing.T, line string, e *Effects) {
	t.Helper()
	if d.How == HowOther {
		return
	}
	check := func(p Place, to bool) {
		switch p.Kind {
		case InMemory:
			if int(p.Reg) >= e.NMem || to && !e.Mem[p.Reg].Write || !to && !e.Mem[p.Reg].Read || 8*int(p.Word) >= max(e.Mem[p.Reg].Size, 8) {
				t.Errorf("%s: %v, %+v", line, p, e.Mem[:e.NMem])
			}
		case InGeneral:
			if set := GPR(Reg(p.Reg), 0, 4); to && !e.Write.Intersects(set) || !to && !e.Uses().Intersects(set) {
				t.Errorf("%s: %v", line, p)
			}
		case InVector:
			if set := Vector(int(p.Reg), 8*int(p.Word), 8); to && !e.Write.Intersects(set) {
				t.Errorf("%s: %v is not written", line, p)
			}
		}
	}
	check(d.To, true)
	if d.A != d.B { // xor r, r reads nothing
		check(d.A, false)
		check(d.B, false)
	}
	for _, w := range d.Words[:d.N] {
		if w[0] == w[1] {
			continue // it stays
		}
		check(w[0], true)
		check(w[1], false)
	}
}
