package objfile

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mgtrace/types"
)

// TestTypesJudged compares layouts with gdb's.
func TestTypesJudged(t *testing.T) {
	need(t, "gdb")
	names := map[string][]string{
		"c++": {"Node", "Base", "Node::Inner", "forest::v1::Tree<Node>", "std::_Rb_tree_node_base", "point", "Virtual"},
		"c":   {"struct item", "list", "struct big", "struct pair"},
	}
	judge(t, func(t *testing.T, prog string) {
		f := open(t, prog, Options{})
		lang := strings.Split(t.Name(), "/")[1]
		args := []string{"-nx", "-batch"}
		for _, name := range names[lang] {
			code := fmt.Sprintf("t = gdb.lookup_type(%q).strip_typedefs()\nprint('type')\nprint('size', t.sizeof)\n"+
				"for f in t.fields():\n  if hasattr(f, 'bitpos'): print('field', (f.name or ''), f.bitpos, f.bitsize, f.type.strip_typedefs().sizeof, f.is_base_class)", name)
			args = append(args, "-ex", "python exec("+strconv.Quote(code)+")")
		}
		want := strings.Split(run(t, "", "gdb", append(args, prog)...), "type\n")[1:]
		for i, name := range names[lang] {
			ts := f.Universe().Lookup(name)
			if len(ts) != 1 || i >= len(want) {
				t.Fatalf("%s: %d types", name, len(ts))
			}
			checkLayout(t, name, ts[0], want[i])
		}
	})
}

func checkLayout(t *testing.T, name string, typ *types.Type, want string) {
	t.Helper()
	members := typ.Members
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		fs := strings.Split(line, " ")
		if fs[0] == "size" && fs[1] != strconv.FormatInt(typ.Size, 10) {
			t.Errorf("%s: size %d, gdb: %s", name, typ.Size, fs[1])
		}
		if fs[0] != "field" {
			continue
		}
		if len(members) == 0 {
			t.Errorf("%s: gdb has more: %s", name, line)
			return
		}
		m := members[0]
		members = members[1:]
		size := m.Type.Size
		if m.Type.Kind == types.Array && m.Type.Count < 0 {
			size = 0
		}
		mname := m.Name
		if m.Base {
			mname = m.Type.Name
		}
		got := fmt.Sprintf("field %s %d %d %d %s", mname, m.Offset*8+int64(m.BitOffset), m.BitSize, size, title(m.Base))
		if got != line && m.Offset >= 0 && !strings.HasPrefix(line, "field "+mname+" None ") { // gdb tells of no virtual base where it lies
			t.Errorf("%s:\n got %s\nwant %s", name, got, line)
		}
	}
	if len(members) > 0 {
		t.Errorf("%s: gdb does not have %v", name, members)
	}
}

func title(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// TestUnwindJudged stops programs under gdb, and compares backtraces and the
// addresses of variables in every frame.
func TestUnwindJudged(t *testing.T) {
	need(t, "gdb")
	script, err := filepath.Abs("testdata/stop.py")
	if err != nil {
		t.Fatal(err)
	}
	judgeIn(t, []config{judged[0], judged[1], judged[3]}, func(t *testing.T, prog string) {
		t.Parallel()
		breaks := []string{"helper", "puts", "__libc_malloc", "list.c:57"}
		if strings.Contains(t.Name(), "c++") {
			breaks = []string{"insert(double)", "forest::Tree<Node>::insert(Node*)", "puts", "malloc"}
		}
		args := []string{"-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", "set breakpoint pending on", "-x", script}
		args = append(args, "-ex", "tbreak main", "-ex", "run >/dev/null")
		for _, b := range breaks {
			args = append(args, "-ex", "break "+b)
		}
		for range 4 {
			args = append(args, "-ex", "python stop()", "-ex", "continue")
		}
		out := run(t, "", "gdb", append(args, prog)...)
		stops := strings.Split(out, "STOP\n")[1:]
		if len(stops) == 0 {
			t.Skip("gdb could not run the program: ", out)
		}
		levels, vars := 0, 0
		for _, s := range stops {
			l, v := readStop(t, s).check(t)
			levels, vars = levels+l, vars+v
		}
		if levels < 2*len(stops) || vars < 10 {
			t.Errorf("only %d frames and %d variables at %d stops", levels, vars, len(stops))
		}
	})
}

// gdbStop is what testdata/stop.py wrote.
type gdbStop struct {
	regs    Regs
	maps    []gdbMap
	stackAt uint64
	stack   []byte
	frames  []gdbFrame
	files   map[string]*File
}

type gdbMap struct {
	lo, hi, off uint64
	path        string
}

type gdbFrame struct {
	pc     uint64
	inline bool              // an inlined instance; what it is inlined into follows
	vars   map[string]uint64 // the innermost of a name
}

func readStop(t *testing.T, text string) *gdbStop {
	s := &gdbStop{files: map[string]*File{}}
	num := func(x string) uint64 {
		n, _ := strconv.ParseUint(x, 16, 64)
		return n
	}
	for _, line := range strings.Split(text, "\n") {
		fs := strings.Fields(line)
		if len(fs) == 0 {
			continue
		}
		switch fs[0] {
		case "reg":
			i, _ := strconv.Atoi(fs[1])
			s.regs.Set(i, num(fs[2]))
		case "map":
			s.maps = append(s.maps, gdbMap{num(fs[1]), num(fs[2]), num(fs[3]), fs[4]})
		case "stack":
			s.stackAt = num(fs[1])
			s.stack, _ = hex.DecodeString(fs[2])
		case "frame", "inline":
			s.frames = append(s.frames, gdbFrame{num(fs[1]), fs[0] == "inline", map[string]uint64{}})
		case "var":
			vars := s.frames[len(s.frames)-1].vars
			if _, shadowed := vars[fs[2]]; !shadowed {
				vars[fs[2]] = num(fs[1])
			}
		}
	}
	return s
}

func (s *gdbStop) read(addr uint64, b []byte) bool {
	if addr < s.stackAt || addr+uint64(len(b)) > s.stackAt+uint64(len(s.stack)) {
		return false
	}
	copy(b, s.stack[addr-s.stackAt:])
	return true
}

// file finds what is mapped at pc.
func (s *gdbStop) file(pc uint64) (*File, uint64, bool) {
	for _, m := range s.maps {
		if pc < m.lo || pc >= m.hi || m.path[0] != '/' {
			continue
		}
		f := s.files[m.path]
		if f == nil {
			var err error
			if f, err = Open(m.path, Options{}); err != nil {
				return nil, 0, false
			}
			s.files[m.path] = f
		}
		v, ok := f.Vaddr(pc - m.lo + m.off)
		return f, pc - v, ok
	}
	return nil, 0, false
}

// check unwinds, and returns how many frames and variables agreed.
func (s *gdbStop) check(t *testing.T) (levels, vars int) {
	defer func() {
		for _, f := range s.files {
			f.Close()
		}
	}()
	stack := Unwind(s.regs, 100, s.file, s.read)
	level, inlined := 0, 0
	for _, want := range s.frames {
		if level >= len(stack) {
			if _, _, mapped := s.file(want.pc); !mapped {
				break // gdb guesses where there is no caller: above the entry of ld.so
			}
			t.Errorf("%d levels, gdb has more: %#x", len(stack), want.pc)
			return
		}
		l := &stack[level]
		if l.Regs.PC() != want.pc {
			t.Errorf("level %d: pc %#x, gdb: %#x", level, l.Regs.PC(), want.pc)
			return
		}
		vars += s.checkVars(t, l, inlined, want.vars)
		inlined++
		if !want.inline {
			level++
			inlined = 0
		}
	}
	return level, vars
}

// checkVars compares the addresses of the variables of one frame, and returns
// how many agreed. gdb gives an address to what is in a register, too, if a
// callee saved it.
func (s *gdbStop) checkVars(t *testing.T, l *Level, frame int, want map[string]uint64) (vars int) {
	f, bias, ok := s.file(l.Lookup())
	if !ok {
		return 0
	}
	seen := map[string]bool{}
	for _, v := range f.Variables(l.Lookup() - bias) {
		at, known := want[v.Name]
		if !known || seen[v.Name] || v.Frame != frame {
			continue
		}
		seen[v.Name] = true
		got := uint64(v.Loc.Offset)
		switch v.Loc.Kind {
		case LocRegOffset:
			got += l.Regs.R[v.Loc.Reg]
		case LocStatic:
			got += bias
		case LocIndirect:
			var b [8]byte
			if !s.read(got+l.Regs.R[v.Loc.Reg], b[:]) {
				continue
			}
			got = binary.LittleEndian.Uint64(b[:])
		case LocReg:
			continue
		case LocNone: // in several places
			continue
		}
		vars++
		if got != at {
			t.Errorf("pc %#x: %s at %#x, gdb: %#x (%v)", l.Lookup()-bias, v.Name, got, at, v.Loc)
		}
	}
	return vars
}

// BenchmarkStep measures one step of unwinding.
func BenchmarkStep(b *testing.B) {
	f, err := Open("/bin/sh", Options{NoDebug: true})
	if err != nil {
		b.Skip(err)
	}
	defer f.Close()
	d := f.cfiTable().fdes[len(f.cfiTable().fdes)/2]
	var regs Regs
	for r := range regs.R {
		regs.Set(r, 0x7fff0000)
	}
	mem := func(addr uint64, p []byte) bool { p[0] = 1; return true }
	b.ReportAllocs()
	for b.Loop() {
		f.Step(d.lo, &regs, mem, 0)
	}
}
