package x86

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var icedDir = flag.String("iced", "", "directory in which npm installed iced-x86, for TestEffectsAgainstIced")

// icedInfo is what testdata/iced.cjs says.
type icedInfo struct {
	Length    int
	Registers []struct{ Name, Access string }
	Memory    []struct {
		Base, Index string
		Scale       int
		Disp        string
		Size        int
		Access      string
	}
	Read, Written, Undefined uint32
}

// TestEffectsAgainstIced compares every encoding with the tables of another
// disassembler, above all what this processor can not execute.
func TestEffectsAgainstIced(t *testing.T) {
	if *icedDir == "" {
		t.Skip("needs -iced DIR: a directory after `npm install iced-x86` there")
	}
	var codes [][]byte
	var input bytes.Buffer
	for _, code := range icedForms() {
		in, err := Decode(code, 0)
		if err != nil {
			continue
		}
		var e Effects
		if in.Effects(&e); e.Unknown {
			continue
		}
		codes = append(codes, code[:in.Len])
		fmt.Fprintln(&input, hex.EncodeToString(code[:in.Len]))
	}
	script, err := os.ReadFile("testdata/iced.cjs")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "-e", string(script))
	cmd.Dir, cmd.Stdin, cmd.Stderr = *icedDir, &input, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(bytes.NewReader(out))
	sc.Buffer(nil, 1<<20)
	compared, accepted, unknown, wrong := 0, 0, 0, map[string]int{}
	for _, code := range codes {
		var info icedInfo
		if !sc.Scan() {
			t.Fatal("too few answers")
		}
		if err := json.Unmarshal(sc.Bytes(), &info); err != nil {
			t.Fatal(err)
		}
		in, _ := Decode(code, 0)
		if info.Length != in.Len {
			unknown++
			continue
		}
		compared++
		var e Effects
		in.Effects(&e)
		if icedDiffers(&in) {
			accepted++
			continue
		}
		for _, msg := range info.compare(&in, &e) {
			key := fmt.Sprint(in.effectRow().line, msg)
			if wrong[key]++; wrong[key] == 1 {
				t.Errorf("% x: %s: %s: %s\n\t%s", code, Text(code, 0), msg, tableLine(in.effectRow()), effectsText(&e))
			}
		}
	}
	t.Logf("%d encodings compared, %d of them accepted to differ, %d that iced does not know or has another length", compared, accepted, unknown)
	if compared < 10000 {
		t.Error("too few were compared")
	}
}

// icedDiffers lists every case in which iced and the table are allowed to differ, with
// the reason.
func icedDiffers(in *Inst) bool {
	row := in.effectRow()
	switch {
	case row.has(doSyscall), row.has(doFxsave), row.has(doFxrstor), row.has(doXsave), row.has(doXrstor):
		return true // iced lists neither the kernel's registers nor those of a saved state
	case row.has(doVzero):
		return true // iced takes it to read what it keeps
	case row.has(doString) && (in.rep || in.repne):
		return true // iced takes the count for 1, or the size for 0
	case in.opmap == map1B && (in.op == 0xd2 || in.op == 0xd3), in.opmap == map0F && (in.op == 0xa5 || in.op == 0xad):
		return true // a count of 0 leaves the flags alone
	case row.has(doXlat):
		return true // AL is an index there, and a shape here
	case row.n > 0 && row.steps[0].access == accNone:
		return true // prefetch, clflush: nothing depends on the address
	}
	return false
}

// icedForms are all encodings, those of EVEX with masks, broadcasts and registers 16 to
// 31 too.
func icedForms() (all [][]byte) {
	for _, code := range encodings() {
		all = append(all, code)
		if code[0] != 0x62 {
			continue
		}
		for _, change := range [][3]byte{{0, 0, 0x01}, {0, 0, 0x81}, {0, 0, 0x10}, {0x10, 0, 0x08}, {0x40, 0, 0x00}} {
			c := slices.Clone(code)
			for i, bits := range change {
				c[1+i] ^= bits
			}
			all = append(all, c)
		}
	}
	return all
}

// icedUnits finds the units of a register by its name; n is its width in bytes.
func icedUnits(name string) (s RegSet, n int) {
	wide := map[string]int{"AX": 0, "CX": 1, "DX": 2, "BX": 3, "SP": 4, "BP": 5, "SI": 6, "DI": 7}
	narrow := map[string][2]int{"AL": {0, 0}, "CL": {1, 0}, "DL": {2, 0}, "BL": {3, 0}, "AH": {0, 1}, "CH": {1, 1}, "DH": {2, 1}, "BH": {3, 1},
		"SPL": {4, 0}, "BPL": {5, 0}, "SIL": {6, 0}, "DIL": {7, 0}}
	if b, ok := narrow[name]; ok {
		return GPR(Reg(b[0]), b[1], 1), 1
	}
	if r, ok := wide[name]; ok {
		return GPR(Reg(r), 0, 2), 2
	}
	if len(name) == 3 && name[0] != 'R' || len(name) == 3 && name[1] > '9' {
		if r, ok := wide[name[1:]]; ok {
			n := map[byte]int{'E': 4, 'R': 8}[name[0]]
			return GPR(Reg(r), 0, n), n
		}
	}
	digits := strings.TrimLeft(name, "XYZMRSTK")
	number, err := strconv.Atoi(strings.TrimRight(digits, "DWL"))
	if err != nil {
		return s, 0
	}
	switch {
	case strings.HasPrefix(name, "XMM"), strings.HasPrefix(name, "YMM"), strings.HasPrefix(name, "ZMM"):
		n := map[byte]int{'X': 16, 'Y': 32, 'Z': 64}[name[0]]
		return Vector(number, 0, n), n
	case name[0] == 'R':
		n := map[byte]int{'L': 1, 'W': 2, 'D': 4}[name[len(name)-1]]
		if n == 0 {
			n = 8
		}
		return GPR(Reg(number), 0, n), n
	case name[0] == 'K':
		return Mask(number), 8
	case strings.HasPrefix(name, "ST"), strings.HasPrefix(name, "MM"):
		return UnitX87.set(), 10
	}
	return s, 0
}

// registers of a set, as wholes: those that may be compared by name.
func wholeRegisters(s RegSet) map[string]bool {
	all := map[string]bool{}
	for u := range s.All() {
		switch {
		case u < 64:
			all[gprNames[u>>2]] = true
		case u < 192:
			all[fmt.Sprintf("zmm%d", (u-64)>>2)] = true
		case u >= UnitK0 && u < UnitK0+8:
			all[u.String()] = true
		}
	}
	return all
}

func icedFlags(bits uint32) (s uint64) {
	for i, u := range [...]Unit{UnitOF, UnitSF, UnitZF, UnitAF, UnitCF, UnitPF, UnitDF} {
		if bits>>i&1 != 0 {
			s |= 1 << (u - 192)
		}
	}
	return s
}

// compare lists the disagreements: general registers by units, others as wholes, flags
// one by one, and the operands in memory.
func (info *icedInfo) compare(in *Inst, e *Effects) (wrong []string) {
	var read, write, sure RegSet
	for _, r := range info.Registers {
		s, n := icedUnits(r.Name)
		if strings.Contains(r.Access, "Read") {
			read = read.Or(s)
		}
		if strings.Contains(r.Access, "Write") {
			if n == 4 && s[0] != 0 {
				s[0] |= s[0] << 1
			}
			write = write.Or(s)
			if !strings.Contains(r.Access, "Cond") {
				sure = sure.Or(s)
			}
		}
	}
	check := func(what string, ours, theirs RegSet) {
		if ours[0] != theirs[0] {
			wrong = append(wrong, fmt.Sprintf("%s {%v}, iced {%v}", what, RegSet{ours[0]}, RegSet{theirs[0]}))
		}
		a, b := wholeRegisters(ours), wholeRegisters(theirs)
		if !maps.Equal(a, b) {
			wrong = append(wrong, fmt.Sprintf("%s %v, iced %v", what, slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))))
		}
	}
	merged := e.Write.AndNot(e.Kill)
	if !in.vex && !in.evex { // iced has whole registers, of which we know that a part stays
		merged = merged.Or(RegSet{1: e.Write[1], 2: e.Write[2]})
	}
	check("reads", e.Read.Or(merged), read.Or(merged))
	check("writes", e.Write, write)
	if s := e.Kill.AndNot(sure); s[0] != 0 || len(wholeRegisters(s)) > 0 && (in.vex || in.evex) {
		wrong = append(wrong, fmt.Sprintf("kills {%v}, iced is not sure", s))
	}
	const flags = 0x7f
	for _, f := range []struct {
		what         string
		ours, theirs uint64
	}{
		{"reads", e.Read[3] & flags, icedFlags(info.Read)},
		{"kills", e.Kill[3] & flags, icedFlags(info.Written)},
		{"may write", e.Write[3] &^ e.Kill[3] & flags, icedFlags(info.Undefined)},
	} {
		if f.ours != f.theirs {
			wrong = append(wrong, fmt.Sprintf("%s {%v}, iced {%v}", f.what, RegSet{3: f.ours}, RegSet{3: f.theirs}))
		}
	}
	return append(wrong, info.compareMemory(in, e)...)
}

func (info *icedInfo) compareMemory(in *Inst, e *Effects) []string {
	var ours, theirs []string
	for _, m := range e.Mem[:e.NMem] {
		base, index := "-", "-"
		switch {
		case m.RIPRelative:
			m.Disp += int64(in.Len)
		case m.Base != NoReg:
			base = gprNames[m.Base]
		}
		if m.Index != NoReg {
			index = gprNames[m.Index]
		}
		access := ""
		if m.Read {
			access += "Read"
		}
		if m.Write {
			access += "Write"
		}
		if m.Shape == MemVector {
			index = fmt.Sprintf("zmm%d", m.Vector)
		}
		ours = append(ours, fmt.Sprintf("%s %d %s %s %d", access, m.Size, base, index, m.Disp))
	}
	for _, m := range info.Memory {
		if m.Access == "NoMemAccess" {
			continue
		}
		name := func(r string) string {
			s, _ := icedUnits(r)
			for n := range wholeRegisters(s) {
				return n
			}
			return "-"
		}
		theirs = append(theirs, fmt.Sprintf("%s %d %s %s %s", strings.ReplaceAll(m.Access, "Cond", ""), m.Size, name(m.Base), name(m.Index), m.Disp))
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	if !slices.Equal(ours, theirs) {
		return []string{fmt.Sprintf("memory %q, iced %q", ours, theirs)}
	}
	return nil
}
