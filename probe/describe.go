package probe

import (
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"strings"
)

// String sums the plan up in a few lines.
func (p *Plan) String() string {
	var b strings.Builder
	after, only := 0, 0
	for i := range p.Stores {
		switch s := &p.Stores[i]; {
		case s.AfterOnly:
			only++
		case s.After != Site{}:
			after++
		}
	}
	fmt.Fprintf(&b, "%d stores probed in %s", len(p.Stores), strings.Join(p.tracedNames(), ", "))
	fmt.Fprintf(&b, " (%d read at the next instruction, %d probed only there)", after+only, only)
	fmt.Fprintf(&b, "; %d can not be probed, %d can not reach the heap", len(p.Unprobed), p.Filtered)
	if p.Library > 0 {
		fmt.Fprintf(&b, ", %d are the C library's own", p.Library)
	}
	roles := map[string]int{}
	for i := range p.Funcs {
		roles[p.Funcs[i].Role.group()]++
	}
	fmt.Fprintf(&b, "\n%d allocator functions, %d writers, %d watched functions, %d points\n",
		roles["allocator"], roles["writer"], roles["watched"], len(p.Points))
	if len(p.Operations) > 0 {
		fmt.Fprintf(&b, "no C-point is a function: calls of %s are followed, which change nodes\n", strings.Join(p.Operations, ", "))
	}
	return b.String()
}

func (p *Plan) tracedNames() (names []string) {
	for _, im := range p.Images {
		if im.Traced {
			names = append(names, filepath.Base(im.Path))
		}
	}
	return names
}

// group is the role in the words of a summary.
func (r Role) group() string {
	switch r {
	case RoleWatch:
		return "watched"
	case RoleWriter:
		return "writer"
	case RoleWait:
		return "waiter"
	case RoleFrame:
		return "frame"
	}
	return "allocator"
}

// Describe writes the plan for a reader: the summary, every function and
// point, what can not be probed by reason, and the warnings.
func (p *Plan) Describe(w io.Writer) error {
	var b strings.Builder
	b.WriteString(p.String())
	for i := range p.Funcs {
		f := &p.Funcs[i]
		how := fmt.Sprintf("%d exits", len(f.Returns))
		if f.Uretprobe {
			how = "return probe"
		}
		fmt.Fprintf(&b, "%-9s %s at %s, %s\n", f.Role.group(), f.Name, p.where(f.Entry), how)
	}
	for i := range p.Points {
		q := &p.Points[i]
		fmt.Fprintf(&b, "%-9s %s:%d in %s at %s\n", q.Point.Kind, filepath.Base(q.Point.File), q.Point.Line, q.Point.Function, p.where(q.Site))
	}
	p.describeUnprobed(&b)
	for _, s := range p.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// describeUnprobed groups by reason, the most frequent first, with a few examples.
func (p *Plan) describeUnprobed(b *strings.Builder) {
	const examples = 3
	by := map[string][]*Unprobed{}
	for i := range p.Unprobed {
		u := &p.Unprobed[i]
		by[u.Reason] = append(by[u.Reason], u)
	}
	reasons := make([]string, 0, len(by))
	for r := range by {
		reasons = append(reasons, r)
	}
	sort.Slice(reasons, func(i, j int) bool {
		x, y := len(by[reasons[i]]), len(by[reasons[j]])
		return x > y || x == y && reasons[i] < reasons[j]
	})
	for _, r := range reasons {
		fmt.Fprintf(b, "unprobed: %d: %s\n", len(by[r]), r)
		for _, u := range by[r][:min(examples, len(by[r]))] {
			fmt.Fprintf(b, "  %s: %s\n", p.where(u.Site), u.Instruction)
		}
	}
}

func (p *Plan) where(s Site) string {
	return fmt.Sprintf("%s+%#x", filepath.Base(p.Images[s.Image].Path), s.Addr)
}
