package x86

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// effectStep is one thing that an instruction does: an operand or an action.
type effectStep struct {
	access, place, width byte // width: a number of bytes, or a letter with widthLetter
	do                   action
}

// effectRow is a line of the table, ready to use.
type effectRow struct {
	prefixes             uint8 // bits: none, 66, F3, F2
	regs, rms            uint8 // bits: ModRM.reg, ModRM.rm
	mem, reg             bool
	w                    uint8 // bits: W 0, W 1
	b0                   bool
	flagsRead, flagsKill uint8
	flagsMay             uint8
	n                    uint8
	words                word
	line                 uint16 // of effectRows, from 0
	steps                [8]effectStep
}

// effectTable finds the rows of an opcode: for each map, encoding and opcode where they
// begin in rows and how many there are.
type effectTable struct {
	rows  []effectRow
	first [8][3][256]uint16
	n     [8][3][256]uint8
}

// The encodings, as indexes.
const (
	encLegacy = iota
	encVEX
	encEVEX
)

var effects = sync.OnceValue(func() *effectTable { return compileEffects(effectRows) })

// effectRow finds the instruction's line of the table, nil if there is none.
func (in *Inst) effectRow() *effectRow {
	t := effects()
	enc := encLegacy
	switch {
	case in.evex:
		enc = encEVEX
	case in.vex:
		enc = encVEX
	}
	first, n := int(t.first[in.opmap][enc][in.op]), int(t.n[in.opmap][enc][in.op])
	for i := first; i < first+n; i++ {
		if r := &t.rows[i]; r.matches(in) {
			return r
		}
	}
	return nil
}

func (r *effectRow) has(a action) bool {
	for i := range r.steps[:r.n] {
		if r.steps[i].do == a {
			return true
		}
	}
	return false
}

func (r *effectRow) matches(in *Inst) bool {
	prefix := uint8(1)
	switch in.prefix() {
	case 0x66:
		prefix = 2
	case 0xf3:
		prefix = 4
	case 0xf2:
		prefix = 8
	}
	w := uint8(1)
	if in.w {
		w = 2
	}
	switch {
	case r.prefixes&prefix == 0, r.w&w == 0, r.regs>>in.reg&1 == 0, r.rms>>in.rm&1 == 0, r.b0 && in.b != 0:
		return false
	case in.hasModRM && in.mod != 3:
		return r.mem
	case in.hasModRM:
		return r.reg
	}
	return true
}

// compileEffects reads the table. A mistake in it is a mistake of ours: it panics.
func compileEffects(text string) *effectTable {
	type key struct {
		opmap opcodeMap
		enc   int
		op    int
	}
	found := map[key][]effectRow{}
	for n, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		p := rowParser{line: fmt.Sprintf("effects, line %d: %s", n+1, line)}
		p.row.line = uint16(n)
		p.parse(line)
		for _, enc := range p.encodings() {
			for _, op := range p.opcodes {
				k := key{p.opmap, enc, op}
				found[k] = append(found[k], p.row)
			}
		}
	}
	t := &effectTable{}
	for m := range t.first {
		for enc := range t.first[m] {
			for op := range t.first[m][enc] {
				rows := found[key{opcodeMap(m), enc, op}]
				t.first[m][enc][op], t.n[m][enc][op] = uint16(len(t.rows)), uint8(len(rows))
				t.rows = append(t.rows, rows...)
			}
		}
	}
	return t
}

// rowParser reads one line.
type rowParser struct {
	line                 string
	opmap                opcodeMap
	opcodes              []int
	legacy, vex, evexEnc bool
	row                  effectRow
}

func (p *rowParser) fail(what string) { panic(p.line + ": " + what) }

func (p *rowParser) encodings() (all []int) {
	if p.legacy || !p.vex && !p.evexEnc {
		all = append(all, encLegacy)
	}
	if p.vex {
		all = append(all, encVEX)
	}
	if p.evexEnc {
		all = append(all, encEVEX)
	}
	return all
}

func (p *rowParser) parse(line string) {
	head, body, ok := strings.Cut(line, ":")
	fields := strings.Fields(head)
	if !ok || len(fields) < 2 {
		p.fail("not of the form: map opcodes conditions : effects")
	}
	maps := map[string]opcodeMap{"1": map1B, "0f": map0F, "38": map38, "3a": map3A, "m5": map5, "m6": map6}
	if p.opmap, ok = maps[fields[0]]; !ok {
		p.fail("unknown map")
	}
	p.opcodes = p.numbers(fields[1], 16)
	for _, f := range fields[2:] {
		p.condition(f)
	}
	p.defaults()
	for _, f := range strings.Fields(body) {
		p.effect(f)
	}
}

// numbers reads "10,14-15".
func (p *rowParser) numbers(s string, radix int) (all []int) {
	for _, part := range strings.Split(s, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		a, err := strconv.ParseUint(from, radix, 8)
		b, err2 := strconv.ParseUint(to, radix, 8)
		if err != nil || err2 != nil || a > b {
			p.fail("bad range " + part)
		}
		for i := a; i <= b; i++ {
			all = append(all, int(i))
		}
	}
	return all
}

func (p *rowParser) condition(f string) {
	switch f {
	case "leg":
		p.legacy = true
	case "vex":
		p.vex = true
	case "evex":
		p.evexEnc = true
	case "mem":
		p.row.mem = true
	case "reg":
		p.row.reg = true
	case "w0":
		p.row.w |= 1
	case "w1":
		p.row.w |= 2
	case "b0":
		p.row.b0 = true
	default:
		p.numbered(f)
	}
}

func (p *rowParser) numbered(f string) {
	if s, ok := strings.CutPrefix(f, "/"); ok {
		for _, n := range p.numbers(s, 8) {
			p.row.regs |= 1 << n
		}
		return
	}
	if s, ok := strings.CutPrefix(f, "rm"); ok {
		for _, n := range p.numbers(s, 8) {
			p.row.rms |= 1 << n
		}
		return
	}
	for _, s := range strings.Split(f, ",") {
		bit, ok := map[string]uint8{"np": 1, "66": 2, "f3": 4, "f2": 8}[s]
		if !ok {
			p.fail("unknown condition " + f)
		}
		p.row.prefixes |= bit
	}
}

// defaults: without a condition of a kind, all that it could allow.
func (p *rowParser) defaults() {
	r := &p.row
	if r.prefixes == 0 {
		r.prefixes = 15
	}
	if r.regs == 0 {
		r.regs = 0xff
	}
	if r.rms == 0 {
		r.rms = 0xff
	}
	if r.w == 0 {
		r.w = 3
	}
	if !r.mem && !r.reg {
		r.mem, r.reg = true, true
	}
}

// effect reads a flag list, a word or an operand.
func (p *rowParser) effect(f string) {
	r := &p.row
	switch f[0] {
	case '=':
		r.flagsKill |= p.flagSet(f[1:])
		return
	case '?':
		r.flagsMay |= p.flagSet(f[1:])
		return
	case '<':
		r.flagsRead |= p.flagSet(f[1:])
		return
	}
	if bit, ok := wordBits[f]; ok {
		r.words |= bit
		return
	}
	if int(r.n) == len(r.steps) {
		p.fail("too many operands")
	}
	step := &r.steps[r.n]
	r.n++
	if do, ok := actions[f]; ok {
		step.do = do
		return
	}
	if f == "rh" || f == "wh" {
		step.access, step.place, step.width = f[0], 'h', 1
		return
	}
	if len(f) < 3 || !strings.ContainsRune("rwxmoln", rune(f[0])) || !strings.ContainsRune("EGZNACDBVHWLYPQKIJO", rune(f[1])) {
		p.fail("unknown effect " + f)
	}
	step.access, step.place = f[0], f[1]
	if n, err := strconv.Atoi(f[2:]); err == nil {
		step.width = byte(n)
	} else if len(f) == 3 && strings.ContainsRune("svyputxhfgPSjTk", rune(f[2])) {
		step.width = f[2] | widthLetter
	} else {
		p.fail("unknown width in " + f)
	}
}

func (p *rowParser) flagSet(s string) (set uint8) {
	for _, c := range s {
		i := strings.IndexRune("cpazsod", c)
		if i < 0 {
			p.fail("unknown flag")
		}
		set |= 1 << i
	}
	return set
}
