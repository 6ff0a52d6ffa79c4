package x86

import (
	"bufio"
	"debug/elf"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var allBinaries = flag.Bool("all", false, "compare with objdump on every large binary, not only the first few")

// The binaries that are compared with objdump: hand-written vector code
// (libc, libcrypto), C at -O2 (bash, perl, python3, git), C++ (gdb, libstdc++).
func binaries() []string {
	files := []string{"/bin/bash", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"}
	if *allBinaries {
		files = append(files, "/usr/bin/perl", "/usr/bin/python3", "/usr/bin/git", "/usr/bin/gdb",
			"/usr/lib/x86_64-linux-gnu/libstdc++.so.6")
	}
	return files
}

// TestAgainstObjdump compares boundaries, which instructions write memory, and
// for those the operand and its width.
func TestAgainstObjdump(t *testing.T) {
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("objdump is not installed")
	}
	for _, path := range binaries() {
		t.Run(path[strings.LastIndex(path, "/")+1:], func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(path); err != nil {
				t.Skip(err)
			}
			compareFile(t, objdump, path)
		})
	}
}

func compareFile(t *testing.T, objdump, path string) {
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sec := f.Section(".text")
	code, err := sec.Data()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(objdump, "-d", "-w", "-M", "intel", "-j", ".text", path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var judge judge
	sc := bufio.NewScanner(out)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		line, ok := parseLine(sc.Text())
		if !ok {
			continue
		}
		if msg := judge.compare(line, code[line.addr-sec.Addr:]); msg != "" {
			t.Errorf("%s: %x: % x: %s: %s", path, line.addr, line.bytes, line.text, msg)
			if judge.wrong++; judge.wrong > 60 {
				t.Fatal("too many disagreements")
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instructions, %d of them stores, %d accepted disagreements", judge.insts, judge.stores, judge.accepted)
	if judge.insts < 1000 {
		t.Error("objdump's output was not understood")
	}
}

// dumpLine is one line of objdump -d.
type dumpLine struct {
	addr  uint64
	bytes []byte
	text  string
}

func parseLine(s string) (dumpLine, bool) {
	parts := strings.SplitN(s, "\t", 3)
	if len(parts) != 3 || !strings.HasSuffix(parts[0], ":") {
		return dumpLine{}, false
	}
	addr, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(parts[0], ":")), 16, 64)
	if err != nil {
		return dumpLine{}, false
	}
	l := dumpLine{addr: addr}
	for _, h := range strings.Fields(parts[1]) {
		b, err := strconv.ParseUint(h, 16, 8)
		if err != nil {
			return dumpLine{}, false
		}
		l.bytes = append(l.bytes, byte(b))
	}
	text, _, _ := strings.Cut(parts[2], "#")
	text, _, _ = strings.Cut(text, "<")
	l.text = strings.Join(strings.Fields(text), " ")
	return l, true
}

type judge struct{ insts, stores, accepted, wrong int }

func (j *judge) compare(l dumpLine, code []byte) string {
	j.insts++
	in, err := Decode(code, l.addr)
	if acceptedDisagreement(l, in, err) {
		j.accepted++
		return ""
	}
	if err != nil {
		return err.Error()
	}
	if in.Len != len(l.bytes) {
		return fmt.Sprintf("length %d", in.Len)
	}
	want := dumpStore(l.text)
	if want == nil {
		if in.Effect == EffectStore || in.Effect == EffectUnknown {
			return fmt.Sprintf("effect %d, but it does not write", in.Effect)
		}
		return ""
	}
	j.stores++
	if in.Effect != EffectStore {
		return fmt.Sprintf("effect %d, but it writes %v", in.Effect, want)
	}
	if got := operandText(&in.Store); want.operand != "" && got != want.operand {
		return "operand " + got
	}
	if want.width != 0 && in.Store.Width != want.width {
		return fmt.Sprintf("width %d", in.Store.Width)
	}
	return ""
}

// acceptedDisagreement lists every case in which objdump and this package are
// allowed to differ, with the reason.
func acceptedDisagreement(l dumpLine, in Inst, err error) bool {
	switch {
	case strings.Contains(l.text, "bad") || strings.HasPrefix(l.text, ".byte"):
		return true // data among the code
	case allPrefixes(l.bytes):
		return true // objdump prints prefixes before data, or odd ones, on a line of their own
	case strings.HasPrefix(l.text, "jmpw") || strings.HasPrefix(l.text, "callw"):
		return true // with 66, AMD has a 16-bit displacement and Intel one of 32 bits
	case strings.Contains(l.text, "[eip") || strings.Contains(l.text, "[riz"):
		return true // 67 with a RIP-relative operand, SIB without any register: only in data
	case l.bytes[0] == 0x9b:
		return true // objdump joins fwait with the x87 instruction that follows
	case strings.HasPrefix(l.text, "rex") && strings.Contains(l.text, " v") && err != nil:
		return true // REX before VEX is undefined: only in data
	}
	return false
}

func allPrefixes(code []byte) bool {
	for _, b := range code {
		switch b {
		case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x9b:
		default:
			if b&0xf0 != 0x40 {
				return false
			}
		}
	}
	return true
}

// wantStore is what objdump's text says of a store. "" and 0: it does not say.
type wantStore struct {
	operand string
	width   int
}

var (
	prefixWord  = regexp.MustCompile(`^(\{evex\}|lock|rep|repz|repnz|xacquire|xrelease|data16|addr32|bnd|notrack|cs|ds|es|ss|fs|gs|rex[.A-Z]*) `)
	operandRE   = regexp.MustCompile(`^(?:([A-Z]+) (?:PTR|BCST) )?((?:[cdefgs]s:)?(?:\[.*?\]|0x[0-9a-f]+))(\{.*\})*$`)
	noIndex     = regexp.MustCompile(`\+riz\*[1248]`)
	unsignedRIP = regexp.MustCompile(`rip\+0xffffffff[0-9a-f]{8}`)
	// Mnemonics whose first operand is only read.
	readsFirst = regexp.MustCompile(`^(cmp|test|push|call|jmp|bt|nop|prefetch\w*|u?comis[sd]|vu?comis[sd]|mul|i?div|imul|` +
		`f(i?(add|subr?|mul|divr?|comp?)|i?ld|bld|ldcw|ldenvw?|rstorw?)|fxrstor(64)?|xrstors?c?(64)?|v?ldmxcsr|clflush(opt)?|clwb|cldemote|` +
		`ud[012]|lgdt|lidt|lldt|ltr|lmsw|verr|verw|invlpg|outs|cmps|scas|lods|vmptrld|vmclear|vmxon|v?gatherpf\w*|v?scatterpf\w*|xlat|` +
		`ptwrite|rstorssp|clrssbsy|ldtilecfg|ljmp|lcall|vpgather\w*)$`)
	widths = map[string]int{"BYTE": 1, "WORD": 2, "DWORD": 4, "QWORD": 8, "TBYTE": 10, "XMMWORD": 16,
		"OWORD": 16, "YMMWORD": 32, "ZMMWORD": 64}
)

// dumpStore judges from the text alone: the destination is the first operand,
// and the mnemonic is not one that only reads it.
func dumpStore(text string) *wantStore {
	for prefixWord.MatchString(text) {
		text = prefixWord.ReplaceAllString(text, "")
	}
	mnemonic, operands, _ := strings.Cut(text, " ")
	switch mnemonic {
	case "maskmovq", "maskmovdqu", "vmaskmovdqu":
		return &wantStore{}
	case "movdir64b", "enqcmd", "enqcmds":
		return &wantStore{width: 64}
	case "xchg": // objdump may print the memory operand second
		if _, second, _ := strings.Cut(operands, ","); strings.Contains(second, "[") {
			operands = second
		}
	case "xstore-rng", "xcrypt-ecb", "xcrypt-cbc", "xcrypt-ctr", "xcrypt-cfb", "xcrypt-ofb", "montmul", "xsha1", "xsha256":
		return &wantStore{}
	}
	first, _, _ := strings.Cut(operands, ",")
	m := operandRE.FindStringSubmatch(first)
	if m == nil || readsFirst.MatchString(mnemonic) || strings.HasPrefix(mnemonic, "j") {
		return nil
	}
	if strings.HasPrefix(mnemonic, "loop") || !strings.Contains(m[2], "[") && !strings.Contains(m[2], ":") {
		return nil
	}
	operand := strings.Replace(m[2], "+0x0]", "]", 1)
	operand = noIndex.ReplaceAllString(operand, "")
	operand = unsignedRIP.ReplaceAllStringFunc(operand, func(s string) string {
		disp, _ := strconv.ParseUint(s[len("rip+0x"):], 16, 64)
		return fmt.Sprintf("rip-0x%x", -disp)
	})
	w := &wantStore{operand: operand, width: widths[m[1]]}
	if strings.Contains(mnemonic, "scatter") {
		w.operand, w.width = "", 0
	}
	if strings.HasPrefix(mnemonic, "vcompress") || strings.HasPrefix(mnemonic, "vpcompress") {
		w.width = 0
	}
	return w
}

var regNames = [16]string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

// operandText writes the operand of a store as objdump would.
func operandText(s *Store) string {
	segment := ""
	if s.Segment != 0 {
		segment = string(rune(s.Segment)) + "s:"
	}
	if s.Shape == ShapeString {
		segment = "es:"
	}
	name := func(r Reg) string {
		n := regNames[r]
		if !s.Addr32 {
			return n
		}
		if r >= 8 {
			return n + "d"
		}
		return "e" + n[1:]
	}
	var parts []string
	if s.RIPRelative {
		parts = append(parts, "rip")
	}
	if s.Base != NoReg {
		parts = append(parts, name(s.Base))
	}
	if s.Index != NoReg {
		parts = append(parts, fmt.Sprintf("%s*%d", name(s.Index), s.Scale))
	}
	if len(parts) == 0 {
		if segment == "" {
			segment = "ds:"
		}
		return fmt.Sprintf("%s0x%x", segment, uint64(s.Disp))
	}
	text := strings.Join(parts, "+")
	switch {
	case s.Disp < 0:
		text += fmt.Sprintf("-0x%x", -s.Disp)
	case s.Disp > 0 || s.RIPRelative:
		text += fmt.Sprintf("+0x%x", s.Disp)
	}
	return segment + "[" + text + "]"
}

// TestEveryEncoding compares every opcode of every map under every mandatory
// prefix, operand size and vector length, with a memory and a register operand.
func TestEveryEncoding(t *testing.T) {
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("objdump is not installed")
	}
	const slot = 32
	var code []byte
	for _, insn := range encodings() {
		code = append(code, insn...)
		for len(code)%slot != 0 {
			code = append(code, 0x90)
		}
	}
	file := t.TempDir() + "/code"
	if err := os.WriteFile(file, code, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(objdump, "-D", "-z", "-w", "-M", "intel,intel64", "-b", "binary", "-m", "i386:x86-64", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var judge judge
	sc := bufio.NewScanner(strings.NewReader(string(out)))
	for sc.Scan() {
		line, ok := parseLine(sc.Text())
		if !ok || line.addr%slot != 0 {
			continue
		}
		if msg := judge.compare(line, code[line.addr:]); msg != "" {
			t.Errorf("% x: %s: %s", line.bytes, line.text, msg)
			if judge.wrong++; judge.wrong > 100 {
				t.Fatal("too many disagreements")
			}
		}
	}
	t.Logf("%d instructions, %d of them stores, %d accepted disagreements", judge.insts, judge.stores, judge.accepted)
}

// encodings lists one instruction per opcode, prefix and operand form.
func encodings() (all [][]byte) {
	simple := [][]byte{{0x6c, 0x91, 0xfe}, {0xd1}} // [rcx+rdx*4-2], a register
	var groups [][]byte
	for i := range 8 {
		groups = append(groups, []byte{byte(0x80 | i<<3 | 7), 1, 2, 3, 4}) // /i [rdi+0x4030201]
	}
	operands := append(groups, simple...)
	add := func(parts ...[]byte) {
		for _, operand := range operands {
			var insn []byte
			for _, p := range append(parts, operand) {
				insn = append(insn, p...)
			}
			all = append(all, append(insn, 1, 1, 1, 1))
		}
	}
	legacy := [][]byte{{}, {0x66}, {0xf3}, {0xf2}, {0x48}, {0x66, 0x4d}, {0xf3, 0x4c}, {0xf2, 0x49}}
	for op := range 256 {
		o := []byte{byte(op)}
		for i, p := range legacy {
			if i == 5 { // groups depend on /reg, whatever the prefix
				operands = simple
			}
			if oneByte[op] != 'p' && op != 0x8f {
				add(p, o)
			}
			add(p, []byte{0x0f}, o)
			operands = simple
			add(p, []byte{0x0f, 0x38}, o)
			add(p, []byte{0x0f, 0x3a}, o)
			if i < 5 {
				operands = append(groups, simple...)
			}
		}
		operands = simple
		for pp := range 4 {
			for wl := range 4 {
				vex := byte(wl>>1<<7 | 0x78 | wl&1<<2 | pp)
				for m := byte(1); m <= 3; m++ {
					add([]byte{0xc4, 0xe0 | m, vex}, o)
				}
			}
			for wl := range 6 {
				w := byte(wl&1<<7 | 0x7c | pp)
				for _, m := range []byte{1, 2, 3, 5, 6} {
					add([]byte{0x62, 0xf0 | m, w, byte(wl>>1<<5 | 0x08)}, o)
				}
			}
		}
		operands = append(groups, simple...)
	}
	return all
}
