package symbol

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mgtrace/trace"
)

// eitherWay says whether a statement without code of its own has its store of a member in common with the other branch of an if: the
// compiler has found that both store the same, and asks the condition no more. Then control comes to what stands behind both by the one store.
//
//	94	if ((successor = table[h]) != 0)      mov %r15,0x8(%rax)
//	95		new->next = successor;
//	97	else
//	98		new->next = NULL;
//	100	new->name = name;                     mov %rbx,0x10(%rax)
func (s *Table) eitherWay(c *function, k statement, p *part, m Member, stored map[trace.Addr][]string) bool {
	if c.flow == nil || len(c.code(k)) > 0 {
		return false
	}
	first, lines := s.body(p.frame)
	for i := range lines {
		if !m.inBranches(lines, i, k.line-first) {
			continue
		}
		behind := c.next(statement{k.file, max(k.line, first+i), k.calls})
		for n := range c.insts {
			in := &c.insts[n]
			if ran, mine := in.stores(m, stored, c.bias); ran && mine && c.passes(n, behind) && s.ofBranch(c, in, p, k.calls, m, stored, k.line, first+i) {
				return true
			}
		}
	}
	return false
}

// ofBranch says that a store of a member is that of one of two statements in a function, or stands there where no text assigns the member.
func (s *Table) ofBranch(c *function, in *inst, p *part, calls string, m Member, stored map[trace.Addr][]string, lines ...int) bool {
	here := false
	for i, f := range in.frames {
		here = here || f.File == p.frame.File && f.Declared == p.frame.Declared && place(in.frames[i+1:]) == calls
	}
	for _, f := range s.storing(c.bias+trace.Addr(in.at), m, stored) {
		if f.File == p.frame.File && slices.Contains(lines, f.Line) {
			return true
		}
		if text, ok := s.Sources.Line(f.File, f.Line); !ok || m.assigned().MatchString(code(text)) {
			return false
		}
	}
	return here
}

// next is the code of the next line behind a statement that has some, in the place where it is inlined.
func (c *function) next(k statement) []uint64 {
	line := 0
	for _, in := range c.insts {
		for i, f := range in.frames {
			if f.File == k.file && f.Line > k.line && (line == 0 || f.Line < line) && place(in.frames[i+1:]) == k.calls {
				line = f.Line
			}
		}
	}
	return c.code(statement{k.file, line, k.calls})
}

// passes says that control comes to some instructions by way of the i-th only, or of those that run together with it.
func (c *function) passes(i int, behind []uint64) bool {
	if len(behind) == 0 {
		return false
	}
	for i > 0 && c.runs(i) {
		i--
	}
	head := c.insts[i].at
	if head == c.entry {
		return true
	}
	ways := c.flow.Reached([]uint64{c.entry}, func(pc uint64) bool { return pc == head })
	return ways[head] && !slices.ContainsFunc(behind, func(pc uint64) bool { return pc != head && (pc == c.entry || ways[pc]) })
}

// inBranches says whether two lines of a function's text assign a member in the two branches of one if, each without further condition in its own.
func (m Member) inBranches(lines []string, i, j int) bool {
	i, j = min(i, j), max(i, j)
	if i < 0 || j >= len(lines) || i == j {
		return false
	}
	from, to := m.assigned().FindStringIndex(lines[i]), m.assigned().FindStringIndex(lines[j])
	if from == nil || to == nil {
		return false
	}
	words := wordOrBrace().FindAllString(lines[i][from[0]:]+"\n"+strings.Join(lines[i+1:j], "\n")+"\n"+lines[j][:to[0]], -1)
	behind, ok := elseOf(words)
	return ok && unconditional(behind)
}

// elseOf returns what follows the else of the branch in which some words begin, with a statement that is all of it or stands within braces.
func elseOf(words []string) (behind []string, ok bool) {
	depth, ends := 0, 0
	for i, word := range words {
		switch word {
		case "{":
			depth++
		case "}":
			if depth--; depth == -1 {
				ok = i+1 < len(words) && words[i+1] == "else"
				return words[min(i+2, len(words)):], ok
			}
		case ";":
			ends++
		case "else":
			if depth == 0 && ends == 1 && words[i-1] == ";" {
				return words[i+1:], true
			}
		}
	}
	return nil, false
}

// unconditional says of the words between an else and a statement that this is the branch, or one of those in its braces.
func unconditional(words []string) bool {
	depth, last := 0, -1 // the last word at which a statement ends
	for i, word := range words {
		switch word {
		case "{":
			depth++
		case "}":
			depth--
		}
		if word == "{" || word == "}" || word == ";" {
			last = i
			if depth < 1 {
				return false
			}
		}
	}
	return depth <= 1 && !slices.ContainsFunc(words[last+1:], func(word string) bool {
		return slices.Contains([]string{"if", "else", "for", "while", "switch", "do"}, word)
	})
}

var wordOrBrace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_]\w*|[{};]`) })
