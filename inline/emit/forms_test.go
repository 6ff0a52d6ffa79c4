package emit

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"mgtrace/inline/patch"
	"mgtrace/x86"
)

// relocate is patch.Relocate for an instruction alone.
func relocate(buf, code []byte, from, to uint64) ([]byte, error) {
	return patch.Relocate(buf, []patch.Code{{Addr: from, Bytes: code}}, from, to)
}

var names = func() (n [9][16]string) {
	for i, r := range strings.Fields("ax cx dx bx sp bp si di") {
		n[8][i], n[4][i], n[2][i] = "r"+r, "e"+r, r
		n[1][i] = r + "l"
		if i < 4 {
			n[1][i] = r[:1] + "l"
		}
	}
	for i := 8; i < 16; i++ {
		s := fmt.Sprintf("r%d", i)
		n[8][i], n[4][i], n[2][i], n[1][i] = s, s+"d", s+"w", s+"b"
	}
	return n
}()

// ripMark is a displacement that is replaced when the address is known.
const ripMark = 0x11223344

// author writes instructions and the states in which they run.
type author struct {
	rng *rand.Rand
	bad badness // where addresses lie
}

// badness says why a store must fault.
type badness int

const (
	good         badness = iota
	unmapped             // behind the memory, or half of it
	nonCanonical         // no address of user space at all
)

func (a *author) pick(n int) int { return a.rng.IntN(n) }

// general returns a register other than RSP.
func (a *author) general() int {
	for {
		if r := a.pick(16); r != 4 {
			return r
		}
	}
}

var placeholder = regexp.MustCompile(`\{[a-zA-Z]\}`)

// write fills a form and returns a subject that lacks its code.
func (a *author) write(form string, v *variant) *subject {
	s := &subject{v: v, site: Site{Tag: 0x123456, Hook: None}}
	s.PC = codeBase + 0x100
	s.Seed = a.rng.Uint64() | 1
	for i := range s.Mem {
		s.Mem[i] = byte(a.rng.Uint32())
	}
	for i := range s.Regs {
		s.Regs[i] = a.rng.Uint64()
	}
	s.Regs[4] = dataBase + 0x2000
	s.Flags = 0x202 | a.rng.Uint64()&(0xd5|0x800|0x400)
	s.EA = dataBase + 0x400 + uint64(a.pick(0xc00))
	switch a.bad {
	case unmapped:
		s.EA = dataBase + dataSize + uint64(a.pick(100)) - 1
	case nonCanonical:
		s.EA = 0x8001_0000_0000_0000 + a.rng.Uint64N(1<<52)
	}
	if aligned.MatchString(form) {
		s.EA &^= 63
	}
	high := strings.Contains(form, "{h}")
	text := form
	if strings.Contains(form, "{m}") {
		m := a.memory(s, high)
		if m[1] == '0' && strings.Contains(form, "{m}{") { // gas does not take a mask behind [number]
			m = fmt.Sprintf("[rip+%#x]", ripMark)
		}
		text = strings.ReplaceAll(text, "{m}", m)
	}
	if strings.HasPrefix(form, "pop") && strings.Contains(text, "[rsp") { // RSP has grown when the address is computed
		s.EA += map[bool]uint64{true: 8, false: 2}[strings.Contains(form, "qword")]
	}
	s.text = text
	for placeholder.MatchString(text) {
		text = strings.Replace(text, placeholder.FindString(text), a.operand(s, placeholder.FindString(text)), 1)
	}
	a.strings(s, form)
	if strings.Contains(form, "movdir64b") {
		s.Regs[7], s.EA = s.EA&^63, s.EA&^63
		text = "movdir64b rdi, [rdi+64]"
	}
	if strings.Contains(form, "cmpxchg") && a.pick(2) == 0 {
		s.succeed(form)
	}
	s.text = text
	return s
}

var aligned = regexp.MustCompile(`ap[sd]|dqa|movnt[dp]|16b|movdir64b`)

// memory writes an operand whose address is s.EA.
func (a *author) memory(s *subject, high bool) string {
	general := func() int {
		for {
			if r := a.general(); !high || r < 8 {
				return r
			}
		}
	}
	disp := int64([]int{0, 0, 8, -8, 0x1234, -0x12345}[a.pick(6)])
	base, index, scale := general(), general(), 1<<a.pick(4)
	for index == base {
		index = general()
	}
	kind := a.pick(12)
	if a.bad == nonCanonical {
		kind = 2 + a.pick(2)*7
	}
	switch kind {
	case 0:
		return fmt.Sprintf("[rip+%#x]", ripMark)
	case 1:
		return fmt.Sprintf("[%#x]", s.EA)
	case 2, 3, 4: // with an index
		n := int64(a.pick(400)) - 200
		s.Regs[index] = uint64(n)
		s.Regs[base] = s.EA - uint64(disp+n*int64(scale))
		return fmt.Sprintf("[%s+%s*%d+%d]", names[8][base], names[8][index], scale, disp)
	case 5: // without a base
		s.Regs[index] = (s.EA &^ 7) / uint64(scale)
		return fmt.Sprintf("[%s*%d+%d]", names[8][index], scale, s.EA-s.Regs[index]*uint64(scale))
	case 6: // 32-bit address
		n := int64(a.pick(400)) - 200
		s.Regs[index] = uint64(uint32(n)) | a.rng.Uint64()<<32
		s.Regs[base] = uint64(uint32(s.EA-uint64(disp+n*int64(scale)))) | a.rng.Uint64()<<32
		if high {
			break // no REX is needed, but keep it plain
		}
		return fmt.Sprintf("[%s+%s*%d+%d]", names[4][base], names[4][index], scale, disp)
	case 7:
		s.Regs[base] = uint64(uint32(s.EA-uint64(disp))) | a.rng.Uint64()<<32
		return fmt.Sprintf("[%s+%d]", names[4][base], disp)
	case 8: // the stack
		s.Regs[4] = s.EA&^7 - 64
		s.EA = s.Regs[4] + 64
		return "[rsp+64]"
	}
	s.Regs[base] = s.EA - uint64(disp)
	return fmt.Sprintf("[%s+%d]", names[8][base], disp)
}

func (a *author) operand(s *subject, kind string) string {
	switch kind {
	case "{b}":
		return names[1][a.general()]
	case "{w}":
		return names[2][a.general()]
	case "{d}":
		return names[4][a.general()]
	case "{q}":
		return names[8][a.general()]
	case "{h}":
		return []string{"ah", "ch", "dh", "bh"}[a.pick(4)]
	case "{o}":
		r := a.general()
		if s.uses(r) {
			return "{o}"
		}
		s.Regs[r] = uint64(a.pick(2000)) - 1000
		if strings.Contains(s.text, "dword") {
			return names[4][r]
		}
		return names[8][r]
	case "{X}":
		return fmt.Sprintf("xmm%d", a.pick(16))
	case "{x}":
		return fmt.Sprintf("xmm%d", 16+a.pick(16))
	case "{y}":
		return fmt.Sprintf("ymm%d", a.pick(16))
	case "{z}":
		return fmt.Sprintf("zmm%d", a.pick(32))
	case "{k}":
		return fmt.Sprintf("k%d", 1+a.pick(7))
	}
	panic(kind)
}

// strings prepares what string instructions and maskmovdqu use.
func (a *author) strings(s *subject, form string) {
	if !strings.Contains(form, "sto") && !strings.HasPrefix(form, "mov"+"s") && !strings.HasPrefix(form, "rep") && !strings.HasPrefix(form, "maskmov") {
		return
	}
	if strings.Contains(form, "{m}") {
		return
	}
	if a.bad == good {
		s.EA = dataBase + 0x1000 + uint64(a.pick(256))
	} else {
		s.EA = dataBase + dataSize - uint64(a.pick(64))
	}
	s.Regs[7], s.Regs[6], s.Regs[1] = s.EA, s.EA+uint64(a.pick(64)), uint64(a.pick(12))
}

// succeed makes memory what cmpxchg compares it with: RAX, or RDX:RAX.
func (s *subject) succeed(form string) {
	half := 8
	if strings.Contains(form, "8b") {
		half = 4
	}
	for i := range 8 {
		s.Mem[i] = byte(s.Regs[0] >> (8 * i))
	}
	if strings.Contains(form, "8b") || strings.Contains(form, "16b") {
		for i := range half {
			s.Mem[half+i] = byte(s.Regs[2] >> (8 * i))
		}
	}
}

// uses says that register r is part of the operand written so far.
func (s *subject) uses(r int) bool {
	return strings.Contains(s.text, names[8][r]) || strings.Contains(s.text, names[4][r])
}

// finish gives a subject its code and makes the trampoline.
func (a *author) finish(t *testing.T, s *subject, code []byte) bool {
	t.Helper()
	in, err := x86.Decode(code, s.PC)
	if err != nil {
		t.Fatalf("%s: % x: %v", s.text, code, err)
	}
	code = append([]byte(nil), code[:in.Len]...)
	if i := strings.Index(string(code), "\x44\x33\x22\x11"); i >= 0 {
		d := s.EA - (s.PC + uint64(in.Len))
		for k := range 4 {
			code[i+k] = byte(d >> (8 * k))
		}
		in, _ = x86.Decode(code, s.PC)
	}
	if in.Effect == x86.EffectStore && layoutComplex(&in) {
		s.site.Hook, s.hooks = 7, 2
	} else if s.site.Hook != None {
		s.hooks = 1
		if s.site.After {
			s.hooks = 2
		}
	}
	return makeSubject(t, a.rng, s, code)
}

func lines(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }

// TestExecute runs every form in random states, in its place and in its
// trampoline, at full speed, step by step, and with the end of the log in the
// middle of the record.
func TestExecute(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	a := &author{rng: rand.New(rand.NewPCG(3, uint64(rounds)))}
	a.run(t, rounds)
}

// TestFaults is the same with addresses where no memory is: the fault must be
// seen as if there were no trampoline.
func TestFaults(t *testing.T) {
	for _, bad := range []badness{unmapped, nonCanonical} {
		a := &author{rand.New(rand.NewPCG(4, uint64(bad))), bad}
		a.run(t, 2)
	}
}

func (a *author) run(t *testing.T, rounds int) {
	t.Helper()
	var subjects []*subject
	var texts []string
	for _, form := range lines(forms) {
		for range rounds {
			for i := range variants {
				s := a.write(form, &variants[i])
				switch a.pick(3) {
				case 0:
					s.Mode = modeStep
				case 1:
					s.Mode = modeSwap
				}
				if a.pick(4) == 0 {
					s.site.Hook = 9
				}
				subjects = append(subjects, s)
				texts = append(texts, s.text)
			}
		}
	}
	var ready []*subject
	for i, code := range assemble(t, texts) {
		if a.finish(t, subjects[i], code) {
			ready = append(ready, subjects[i])
		}
	}
	judge(t, ready)
}
