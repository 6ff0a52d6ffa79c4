package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Format returns the message with its place, the source line, and a caret
// under the column:
//
//	quad.cons:3:17: `)` to close the parenthesis is expected here, …
//	  c1: qdtree X;  (X.ISROOT == FALSE => X.INDEGREE == 1;
//	                                    ^
func (e Error) Format(src string) string {
	if e.Pos.Line < 1 {
		return e.in(nil)
	}
	return e.in(strings.SplitN(src, "\n", e.Pos.Line+1))
}

// Format formats errors one after the other. There may be as many as lines.
func Format(errs []Error, src string) string {
	lines := strings.Split(src, "\n")
	var b strings.Builder
	for _, e := range errs {
		b.WriteString(e.in(lines))
	}
	return b.String()
}

// in is Format of an error in lines.
func (e Error) in(lines []string) string {
	kind := ""
	if e.Warning {
		kind = "warning: "
	}
	head := fmt.Sprintf("%s: %s%s\n", e.Pos, kind, e.Msg)
	if e.Pos.Line < 1 || e.Pos.Line > len(lines) {
		return head
	}
	line, at := around([]rune(strings.TrimRight(lines[e.Pos.Line-1], "\r")), e.Pos.Col-1)
	var pad strings.Builder
	for i, r := range line {
		if i >= at {
			break
		}
		if r == '\t' {
			pad.WriteByte('\t') // the caret stays under its character whatever a tab is worth
		} else {
			pad.WriteByte(' ')
		}
	}
	return fmt.Sprintf("%s  %s\n  %s^\n", head, string(line), pad.String())
}

// lineShown is how many characters of a line are shown on each side of a place in it.
const lineShown = 150

// around returns what is shown of a line, and where the place that was at `at` is there.
func around(line []rune, at int) ([]rune, int) {
	at = min(at, len(line))
	if rest := len(line) - at; rest > lineShown+1 {
		line = append(line[:at+lineShown:at+lineShown], '…')
	}
	if at > lineShown+1 {
		line, at = append([]rune{'…'}, line[at-lineShown:]...), lineShown+1
	}
	return line, at
}

// Nearest returns the candidate that name is most likely a misspelling of, ""
// if none is near.
func Nearest(name string, candidates []string) string {
	best, bestDist := "", 1+max(1, utf8.RuneCountInString(name)/3)
	for _, c := range candidates {
		if c == name || c == "" {
			continue
		}
		d := distance(strings.ToLower(name), strings.ToLower(c), bestDist)
		if d < bestDist && d < utf8.RuneCountInString(c) {
			best, bestDist = c, d
		}
	}
	return best
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours between a and b (optimal string alignment), or limit if it is at
// least that.
func distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d >= limit || -d >= limit {
		return limit
	}
	var before, prev, cur []int
	prev = make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := range x {
		cur = make([]int, len(y)+1)
		cur[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			cur[j+1] = min(prev[j+1]+1, cur[j]+1, prev[j]+cost)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				cur[j+1] = min(cur[j+1], before[j-1]+1)
			}
		}
		before, prev = prev, cur
	}
	return min(prev[len(y)], limit)
}
