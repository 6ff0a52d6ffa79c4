package x86

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// effectsText writes effects as one line of testdata/effects.golden.
func effectsText(e *Effects) string {
	var b strings.Builder
	part := func(name string, s RegSet) {
		if !s.Empty() {
			fmt.Fprintf(&b, "  %s {%v}", name, s)
		}
	}
	if e.Unknown {
		return "  unknown"
	}
	part("read", e.Read.AndNot(e.Addr))
	part("addr", e.Addr.AndNot(e.Step))
	part("step", e.Step)
	part("kill", e.Kill.AndNot(e.Step))
	part("may", e.Write.AndNot(e.Kill))
	for _, m := range e.Mem[:e.NMem] {
		fmt.Fprintf(&b, "  %s", accessText(m))
	}
	return b.String()
}

func accessText(m MemAccess) string {
	verb := map[[2]bool]string{{true, false}: "load", {false, true}: "store", {true, true}: "update", {}: "nothing"}[[2]bool{m.Read, m.Write}]
	if m.MayKeep {
		verb += "?"
	}
	text := fmt.Sprintf("%s %d %s", verb, m.Size, operandText(&Store{Operand: m.Operand}))
	switch m.Shape {
	case MemString:
		text += " string"
	case MemMasked:
		text += " masked"
		if m.Mask != 0 {
			text += fmt.Sprintf(" k%d/%d", m.Mask, m.Element)
		}
		if m.Signs != 0 {
			text += fmt.Sprintf(" by signs of zmm%d/%d", m.Signs-1, m.Element)
		}
		if m.Packed {
			text += " packed"
		}
	case MemBit:
		text += " bit by " + gprNames[m.Value]
	case MemVector:
		text += fmt.Sprintf(" %d by zmm%d/%d", m.Count, m.Vector, m.VectorWidth)
	case MemState:
		text += " state"
	case MemXlat:
		text += " +al"
	}
	if m.Rep {
		text += " rep"
	}
	return text
}

// TestEffects: one instruction a line, its bytes, and what the table says.
func TestEffects(t *testing.T) {
	const file = "testdata/effects.golden"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			got.WriteString(line)
			continue
		}
		code, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		raw, err := hex.DecodeString(strings.ReplaceAll(code, " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		in, err := Decode(raw, 0x1000)
		if err != nil || in.Len != len(raw) {
			t.Fatalf("%s: %v, length %d", line, err, in.Len)
		}
		var e Effects
		in.Effects(&e)
		fmt.Fprintf(&got, "%s  %s%s\n", code, Text(raw, 0x1000), effectsText(&e))
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(string(data), got.String()); d != "" {
		t.Error(d)
	}
}

// checkEffects says what is wrong with effects whatever the instruction.
func checkEffects(in *Inst, e *Effects) string {
	valid := RegSet{^uint64(0), ^uint64(0), ^uint64(0), 1<<(Units-192) - 1}
	switch {
	case !e.Write.Contains(e.Kill):
		return "kills what it does not write"
	case !e.Read.Contains(e.Addr):
		return "computes addresses from what it does not read"
	case !e.Addr.And(e.Kill).Contains(e.Step):
		return "moves on what it does not read and write"
	case !valid.Contains(e.Read.Or(e.Write)):
		return "units that do not exist"
	case e.NMem > len(e.Mem):
		return "too many accesses"
	}
	for _, m := range e.Mem[:e.NMem] {
		if !m.Read && !m.Write || m.MayKeep && !m.Write || m.Size == 0 && m.Shape != MemState && !e.Unknown {
			return "an access that is none: " + accessText(m)
		}
	}
	return storeDiffers(in, e)
}

// storeDiffers compares with Store, which objdump judges: both decode the operand.
func storeDiffers(in *Inst, e *Effects) string {
	var writes []MemAccess
	for _, m := range e.Mem[:e.NMem] {
		if m.Write {
			writes = append(writes, m)
		}
	}
	s := &in.Store
	switch {
	case e.Unknown:
		return ""
	case in.Effect == EffectUnknown:
		return "in the table, but Effect is unknown"
	case in.Effect == EffectNone && len(writes) > 0:
		return "writes memory, and Effect does not"
	case in.Effect != EffectNone && len(writes) != 1:
		return fmt.Sprintf("%d stores", len(writes))
	case in.Effect == EffectNone:
		return ""
	}
	w := writes[0]
	if in.Effect == EffectStack {
		if w.Base != RSP || w.Disp != int64(-w.Size) {
			return "pushes to " + accessText(w)
		}
		return ""
	}
	var shape MemShape
	switch s.Shape {
	case ShapeString:
		shape = MemString
	case ShapeMasked:
		shape = MemMasked
	case ShapeBit:
		shape = MemBit
	case ShapeUnsupported:
		return ""
	}
	if w.Base != s.Base || w.Index != s.Index || w.Scale != s.Scale && w.Index != NoReg || w.Disp != s.Disp || w.Segment != s.Segment ||
		w.RIPRelative != s.RIPRelative || w.Addr32 != s.Addr32 || w.Rep != s.Rep {
		return "stores to " + accessText(w) + ", not " + operandText(s)
	}
	if x87env := in.opmap == map1B && in.opsize && (s.Width == 14 || s.Width == 94); x87env {
		return ""
	}
	if w.Size != s.Width || w.Shape != shape && !(s.Shape == ShapeMasked && w.MayKeep) || w.Read != s.RMW {
		return fmt.Sprintf("%s, and Store: %d bytes, shape %d, read %v", accessText(w), s.Width, s.Shape, s.RMW)
	}
	return ""
}

// TestEffectsOfEveryEncoding: whatever the encoding, the effects make sense and agree
// with what is known of stores.
func TestEffectsOfEveryEncoding(t *testing.T) {
	known, unknown, wrong := 0, 0, 0
	for _, code := range encodings() {
		in, err := Decode(code, 0)
		if err != nil {
			continue
		}
		var e Effects
		in.Effects(&e)
		if e.Unknown {
			unknown++
		} else {
			known++
		}
		if msg := checkEffects(&in, &e); msg != "" {
			t.Errorf("% x: %s: %s", code[:in.Len], Text(code, 0), msg)
			if wrong++; wrong > 50 {
				t.FailNow()
			}
		}
	}
	t.Logf("%d encodings in the table, %d not", known, unknown)
}

func TestMasked(t *testing.T) {
	for _, c := range []struct {
		size    int
		element uint8
		mask    uint64
		off, n  int
	}{
		{32, 1, 0xffff, 0, 16},        // memset of 16 bytes
		{32, 1, 0, 0, 0},              // of none
		{32, 1, 1 << 40, 0, 0},        // there is no such element
		{64, 1, 1<<63 | 1<<60, 60, 4}, // what lies between counts
		{64, 8, 0x1_06, 8, 16},
		{4, 4, 0xff, 0, 4},
	} {
		m := MemAccess{Size: c.size, Element: c.element}
		if off, n := m.Masked(c.mask); off != c.off || n != c.n {
			t.Errorf("%d bytes, elements of %d, mask %#x: %d bytes from %d instead of %d from %d", c.size, c.element, c.mask, n, off, c.n, c.off)
		}
	}
}

func TestEffectsAllocateNothing(t *testing.T) {
	in, err := Decode([]byte{0x48, 0x8b, 0x44, 0xcf, 0x08}, 0)
	if err != nil {
		t.Fatal(err)
	}
	var e Effects
	if n := testing.AllocsPerRun(100, func() { in.Effects(&e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzEffects(f *testing.F) {
	for _, line := range strings.Split(strings.TrimSpace(goldens), "\n") {
		code, _ := hex.DecodeString(strings.ReplaceAll(splitWide(line)[0], " ", ""))
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		in, err := Decode(code, 0)
		if err != nil {
			return
		}
		var e, again Effects
		in.Effects(&e)
		if msg := checkEffects(&in, &e); msg != "" {
			t.Fatalf("% x: %s", code[:in.Len], msg)
		}
		if in.Effects(&again); again != e {
			t.Fatalf("% x: not the same again", code[:in.Len])
		}
	})
}

func BenchmarkEffects(b *testing.B) {
	code, _ := hex.DecodeString("488d4701" + "48894708" + "c5fe7f07" + "7510" + "0f1f4000" + "e811223344" + "4801d8" + "f20f58c1")
	var ins []Inst
	for at := 0; at < len(code); {
		in, err := Decode(code[at:], 0)
		if err != nil {
			b.Fatal(err)
		}
		ins = append(ins, in)
		at += in.Len
	}
	var e Effects
	for b.Loop() {
		for i := range ins {
			ins[i].Effects(&e)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(ins)), "ns/instruction")
}
