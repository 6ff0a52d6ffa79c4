package typing

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/types"
	"mgtrace/x86"
)

// begun are blocks of a size that are known as the first members of their type only.
type begun struct {
	whole *check.NodeType
	size  uint64
	first *types.Type
	why   string
}

func (b begun) String() string {
	return fmt.Sprintf("blocks of %d bytes, %s, are taken as %s, which begins as %s does (say so with: alloc %[3]s at …)", b.size, b.why, b.whole.Name, b.first)
}

// Warnings say what was typed by size alone, where many of a type lie in a block, but of
// those whose pieces were found, and which rules gave no block its type.
func (t *Blocks) Warnings(divided func(*check.NodeType) bool) []string {
	out := append(t.sizedSites(), t.arrays(divided)...)
	var whole []string
	for b := range t.begun {
		whole = append(whole, b.String())
	}
	out = append(out, slices.Sorted(slices.Values(whole))...)
	for i := range t.spec.Allocs {
		if r := &t.spec.Allocs[i]; t.before == nil && !t.ruled[r] {
			out = append(out, fmt.Sprintf("alloc %s at %s: no block was allocated there%s", r.Type.Name, placeOf(r), t.whyNone(r)))
		}
	}
	if t.before != nil {
		out = append(out, t.before.warnings()...)
	}
	return out
}

// whyNone is why a rule may name a function that is not on the stack where it is meant, "" if
// there is no such reason.
func (t *Blocks) whyNone(r *check.AllocRule) string {
	if slices.ContainsFunc(t.spec.Allocators, func(a check.Allocator) bool { return a.Func == r.Func }) {
		return fmt.Sprintf(": %s is the allocator, name what calls it", r.Func)
	}
	for i := range t.symbols.Images {
		im := &t.symbols.Images[i]
		if r.Func == "" || im.Obj == nil || !im.Traced {
			continue
		}
		for _, fn := range im.Obj.FuncsNamed(r.Func) {
			if to, ok := endsIn(im, &fn); ok {
				return fmt.Sprintf(": %s ends in a jump to %s, and is on the stack no more then; name what calls it", r.Func, to)
			}
		}
	}
	return ""
}

// endsIn is the function that one jumps to, the first of several.
func endsIn(im *symbol.Image, fn *objfile.Func) (name string, ok bool) {
	for _, in := range im.Insts(fn) {
		if in == nil || in.Kind != x86.KindJmp || !in.Direct || fn.Contains(in.Target) {
			continue
		}
		if to, ok := im.Obj.FuncAt(in.Target); ok && to.Addr == in.Target {
			return to.Name, true
		}
		return cmp.Or(im.Obj.Import(in.Target), "another function"), true
	}
	return "", false
}

// arrays tells of declared types of which many lie in a block, where no ARRAY is declared.
func (t *Blocks) arrays(divided func(*check.NodeType) bool) (out []string) {
	for _, nt := range t.spec.Types {
		if t.several[nt] > 0 && !divided(nt) {
			out = append(out, "blocks "+t.room(nt))
		}
		for _, c := range slices.Sorted(maps.Keys(t.rooms)) {
			if t.rooms[c] == nt {
				out = append(out, fmt.Sprintf("elements of a %s of %s are no nodes, and were not checked: its blocks are declared by ARRAY NAME OF %q;", c, nt.Name, nt.Layout.Name))
			}
		}
	}
	return out
}

// Several tells of the same in a sentence for each type, where a specification is being found.
func (t *Blocks) Several() (out []string) {
	for _, nt := range t.spec.Types {
		if t.several[nt] > 0 {
			out = append(out, "Blocks "+strings.TrimSuffix(t.room(nt), ";"))
		}
	}
	return out
}

func (t *Blocks) room(nt *check.NodeType) string {
	return fmt.Sprintf("with room for several %s, up to %s, were taken for one each, the first: an array of them is declared by ARRAY NAME OF %q; and a function that gives them out one by one, from a pool, by allocator FUNCTION(bytes=%d) frees FUNCTION(1);", nt.Name, report.Thousands(uint64(t.several[nt])), nt.Layout.Name, nt.Layout.Size)
}

// sizedSites says which allocation sites were typed by size: never silently.
func (t *Blocks) sizedSites() []string {
	var out []string
	for pc, s := range t.bySize {
		if s.typ == nil {
			continue
		}
		where := t.symbols.Address(pc - 1)
		if f, _, _ := t.symbols.Where(pc - 1); f.File != "" {
			where = fmt.Sprintf("%s:%d", symbol.Short(f.File), f.Line)
		}
		if s.mixed {
			out = append(out, fmt.Sprintf("%s allocates blocks of several sizes and nothing tells their type; those of %d bytes before the first other were taken as %s, and are not judged (say so with: alloc %s at …)", where, s.size, s.typ.Name, s.typ.Name))
			continue
		}
		out = append(out, fmt.Sprintf("%s allocates %d bytes, taken as %s by size alone (say so with: alloc %s at …)", where, s.size, s.typ.Name, s.typ.Name))
	}
	sort.Strings(out)
	return out
}
