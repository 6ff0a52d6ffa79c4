package cxxname

import (
	"cmp"
	"slices"
)

// Brief is a name as people can read it in a line: of one that is longer than most bytes, the longest template arguments are left out until it is not, or
// none are left.
//
//	tsl::robin_map<…>::erase(int const&)
func Brief(name string, most int) string {
	if len(name) <= most {
		return name
	}
	var args [][2]int // outermost, half-open, without the brackets
	depth, start := 0, 0
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case (c == '<' || c == '>') && ofOperator(name, i):
		case c == '<':
			if depth++; depth == 1 {
				start = i + 1
			}
		case c == '>':
			if depth--; depth == 0 {
				args = append(args, [2]int{start, i})
			}
		}
	}
	slices.SortStableFunc(args, func(a, b [2]int) int { return cmp.Compare(b[1]-b[0], a[1]-a[0]) })
	const left = "…"
	n, size := 0, len(name)
	for ; n < len(args) && size > most && args[n][1]-args[n][0] > len(left); n++ {
		size -= args[n][1] - args[n][0] - len(left)
	}
	out := args[:n]
	slices.SortFunc(out, func(a, b [2]int) int { return cmp.Compare(b[0], a[0]) })
	for _, a := range out {
		name = name[:a[0]] + left + name[a[1]:]
	}
	return name
}
