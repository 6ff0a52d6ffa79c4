package symbol

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Macros expands the macros of a source file as far as it takes to see what a line assigns. Of conditions it knows
// numbers alone, as of "#if 0": of several definitions of a name each may be meant.
type Macros struct {
	// text has the directives that define a name. Headers define thousands that no line of interest uses: a directive is
	// read when its name is asked for.
	text map[string][]string
	read map[string][]definition
}

// definition is one of a macro.
type definition struct {
	params   []string // nil: it takes none
	function bool     // it is used with parentheses
	body     string
}

// Limits of the search for macros.
const (
	maxIncluded  = 200     // files
	maxNested    = 16      // uses within what others stand for
	maxExpansion = 1 << 14 // bytes that a line becomes
	maxUse       = 40      // lines of a use
	maxMeanings  = 8       // of a line
)

var (
	// defined and included are what stands behind "define" and "include".
	defined  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\w+)(\(([^)]*)\))?(.*)$`) })
	included = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^["<]([^">]+)[">]`) })
	word     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z_]\w*`) })
	pasted   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\s*##\s*`) })
)

// Macros are those that a file defines, and the files that it includes: next to it, among those that
// debug information names, or where the system has them.
func (s *Sources) Macros(file string, known []string) Macros {
	if m, ok := s.macros[file]; ok {
		return m
	}
	m := Macros{map[string][]string{}, map[string][]definition{}}
	files := []string{file}
	for i := 0; i < len(files); i++ {
		lines := s.Lines(files[i])
		var open branches
		for n := 0; n < len(lines); n++ {
			kind, rest := preprocessed(lines[n])
			if open.take(kind, rest); open.leftOut() {
				continue
			}
			switch kind {
			case "include":
				if in := included().FindStringSubmatch(rest); in != nil && len(files) < maxIncluded {
					if f := s.find(filepath.Dir(files[i]), in[1], known); f != "" && !slices.Contains(files, f) {
						files = append(files, f)
					}
				}
			case "define":
				for strings.HasSuffix(rest, `\`) && n+1 < len(lines) {
					n++
					rest = strings.TrimSuffix(rest, `\`) + " " + lines[n]
				}
				if name := rest[:wordLength(rest)]; name != "" {
					m.text[name] = append(m.text[name], rest)
				}
			}
		}
	}
	if s.macros == nil {
		s.macros = map[string]Macros{}
	}
	s.macros[file] = m
	return m
}

// branches are those of the preprocessor's choices that a line stands in, the outermost first.
type branches []branch

type branch struct {
	leftOut bool // it is not compiled
	chosen  bool // it is, or one before it
}

// take goes on to a line that tells the preprocessor something.
func (b *branches) take(kind, rest string) {
	n, err := strconv.Atoi(strings.TrimSpace(code(rest)))
	yes, no := err == nil && n != 0, err == nil && n == 0
	top := len(*b) - 1
	switch {
	case kind == "if" || kind == "ifdef" || kind == "ifndef":
		*b = append(*b, branch{leftOut: kind == "if" && no, chosen: kind == "if" && yes})
	case top < 0:
	case kind == "endif":
		*b = (*b)[:top]
	case kind == "else":
		(*b)[top].leftOut = (*b)[top].chosen
	case strings.HasPrefix(kind, "elif"):
		x := &(*b)[top]
		x.leftOut, x.chosen = x.chosen || kind == "elif" && no, x.chosen || kind == "elif" && yes
	}
}

// leftOut: what stands there is not compiled. Of most that is not known.
func (b branches) leftOut() bool {
	return slices.ContainsFunc(b, func(x branch) bool { return x.leftOut })
}

// preprocessed is what a line tells the preprocessor; "" if nothing.
func preprocessed(line string) (kind, rest string) {
	hash, is := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#")
	if !is {
		return "", ""
	}
	hash = strings.TrimLeft(hash, " \t")
	n := wordLength(hash)
	return hash[:n], strings.TrimLeft(hash[n:], " \t")
}

// wordLength is how many letters, digits and underscores a text begins with.
func wordLength(text string) int {
	n := strings.IndexFunc(text, func(c rune) bool {
		return c != '_' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	})
	if n < 0 {
		return len(text)
	}
	return n
}

// of are the definitions of a name.
func (m Macros) of(name string) []definition {
	if text := m.text[name]; text != nil && m.read[name] == nil {
		read := []definition{}
		for _, t := range text {
			d := defined().FindStringSubmatch(code(t))
			if d == nil {
				continue
			}
			x := definition{function: d[2] != "", body: strings.TrimSpace(d[4])}
			for _, p := range strings.Split(d[3], ",") {
				if p = strings.TrimSpace(p); p == "..." {
					p = "__VA_ARGS__"
				}
				x.params = append(x.params, p)
			}
			same := func(y definition) bool { return x.body == y.body && slices.Equal(x.params, y.params) }
			if x.body != name && !slices.ContainsFunc(read, same) {
				read = append(read, x)
			}
		}
		if len(read) == 1 && read[0].body == "" {
			read = []definition{} // there is nothing to expand
		}
		m.read[name] = read
	}
	return m.read[name]
}

// find is the path of an included file, "" if it is not at hand.
func (s *Sources) find(dir, name string, known []string) string {
	for _, f := range known {
		if PathEndsWith(f, name) {
			return f
		}
	}
	for _, d := range []string{dir, "/usr/local/include", "/usr/include"} {
		if f := filepath.Join(d, name); len(s.Lines(f)) > 0 {
			return f
		}
	}
	return ""
}

// Expand writes out what the macros in the first of some lines stand for: each that it may be, where there are several definitions of a
// name; none if there are no macros. A macro may be used over several lines: what it does is at the first.
func (m Macros) Expand(lines []string) (meanings []string) {
	text := lines[0]
	if kind, _ := preprocessed(text); kind == "define" || !slices.ContainsFunc(word().FindAllString(text, -1), func(w string) bool { return len(m.of(w)) > 0 }) {
		return nil
	}
	for _, more := range lines[1:min(len(lines), maxUse)] {
		if strings.Count(text, "(") <= strings.Count(text, ")") {
			break
		}
		text += " " + more
	}
	for most := 1; len(meanings) < min(most, maxMeanings); {
		x := expansion{m, len(meanings), &most}
		meanings = append(meanings, x.expand(text, nil))
	}
	return meanings
}

// expansion takes the same of the definitions of each name: those of one branch often stand in the same order.
type expansion struct {
	Macros
	nth  int
	most *int // definitions that a name has
}

func (x expansion) expand(text string, within []string) string {
	var out strings.Builder
	for text != "" && out.Len() < maxExpansion {
		at := word().FindStringIndex(text)
		if at == nil {
			break
		}
		name := text[at[0]:at[1]]
		out.WriteString(text[:at[0]])
		text = text[at[1]:]
		of := x.of(name)
		if len(of) == 0 || slices.Contains(within, name) || len(within) == maxNested {
			out.WriteString(name)
			continue
		}
		*x.most = max(*x.most, len(of))
		d := &of[x.nth%len(of)]
		args, rest, ok := arguments(text)
		switch {
		case d.function && !ok:
			out.WriteString(name)
		case d.function:
			out.WriteString(x.expand(d.with(args), append(within, name)))
			text = rest
		default:
			out.WriteString(x.expand(d.body, append(within, name)))
		}
	}
	out.WriteString(text)
	return out.String()
}

// arguments cuts what stands in parentheses at the beginning of a text, by commas.
func arguments(text string) (args []string, rest string, ok bool) {
	in := strings.TrimLeft(text, " \t")
	if !strings.HasPrefix(in, "(") {
		return nil, text, false
	}
	depth, from := 0, 1
	for i, c := range in {
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return append(args, strings.TrimSpace(in[from:i])), in[i+1:], true
			}
		case ',':
			if depth == 1 {
				args = append(args, strings.TrimSpace(in[from:i]))
				from = i + 1
			}
		}
	}
	return nil, text, false
}

// with is what a use stands for.
func (d *definition) with(args []string) string {
	text := word().ReplaceAllStringFunc(d.body, func(w string) string {
		i := slices.Index(d.params, w)
		switch {
		case i < 0 || i >= len(args):
			return w
		case w == "__VA_ARGS__":
			return strings.Join(args[i:], ", ")
		}
		return args[i]
	})
	return pasted().ReplaceAllString(text, "")
}
