package syntax

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func specs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/specs/*.cons")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d specifications: %v", len(files), err)
	}
	return files
}

var expectation = regexp.MustCompile(`### ("(?:[^"\\]|\\.)*")`)

// TestErrors parses the chunks of errors.cons: the errors must be those that
// the lines announce, no more and no fewer.
func TestErrors(t *testing.T) {
	line := 1
	for _, chunk := range strings.Split(read(t, "testdata/errors.cons"), "\n---\n") {
		src := strings.Repeat("\n", line-1) + chunk // real line numbers
		line += strings.Count(chunk, "\n") + 2
		want := map[int]*regexp.Regexp{}
		for i, text := range strings.Split(src, "\n") {
			if m := expectation.FindStringSubmatch(text); m != nil {
				pattern, err := strconv.Unquote(`"` + strings.ReplaceAll(strings.ReplaceAll(m[1][1:len(m[1])-1], `\"`, `"`), `\`, `\\`) + `"`)
				if err != nil {
					pattern = strings.ReplaceAll(m[1][1:len(m[1])-1], `\"`, `"`)
				}
				want[i+1] = regexp.MustCompile(pattern)
			}
		}
		_, errs := Parse("errors.cons", src)
		for _, e := range errs {
			re := want[e.Pos.Line]
			if re == nil || !re.MatchString(e.Msg) {
				t.Errorf("unexpected: %s", e.Format(src))
			}
			delete(want, e.Pos.Line)
		}
		for n, re := range want {
			t.Errorf("errors.cons:%d: no error matches %q", n, re)
		}
	}
}

// TestRoundTrip prints and parses again: the text must be the same, and every
// form of the language must be understood.
func TestRoundTrip(t *testing.T) {
	for _, path := range append(specs(t), "testdata/forms.cons") {
		src := read(t, path)
		f, errs := Parse(filepath.Base(path), src)
		for _, e := range errs {
			t.Error(e.Format(src))
		}
		text := Print(f)
		g, errs := Parse("printed", text)
		for _, e := range errs {
			t.Error(e.Format(text))
		}
		if diff := cmp.Diff(text, Print(g)); diff != "" {
			t.Errorf("%s: printed and read again:\n%s", path, diff)
		}
	}
}

// TestPrecedence shows how expressions are grouped.
func TestPrecedence(t *testing.T) {
	tests := []struct{ in, want string }{
		{"a or b and not c == d", "(a or (b and (not (c == d))))"},
		{"a + b * c - d", "((a + (b * c)) - d)"},
		{"a & b | c << d + 1 == e", "(((a & b) | (c << (d + 1))) == e)"},
		{"-a * ~b", "((-a) * (~b))"},
		{"-X.f", "(-X.f)"},
		{"X -> Y and not X ->> Z", "((X -> Y) and (not (X ->> Z)))"},
		{"a ? b : c ? d : e", "(a ? b : (c ? d : e))"},
		{"|a - b| <= 1", "(|(a - b)| <= 1)"},
		{"||a| - |b|| <= 1", "(|(|a| - |b|)| <= 1)"},
		{"|a + (b | c)|", "|(a + (b | c))|"},
		{"(a ||b|)", "(a | |b|)"},
		{"|a ? b : c|", "|(a ? b : c)|"},
		{"(a) | b", "(a | b)"},
		{"X[1].f.[2]", "X[1].f.[2]"},
		{"MIN(a | b, |c|)", "MIN((a | b), |c|)"},
		{"a[b | c] | d", "(a[(b | c)] | d)"},
		{"X.Hook<Job, 1>::next.n < X.n", "(X.Hook<Job, 1>::next.n < X.n)"},
		{"X.B<A<2>>::n == 1", "(X.B<A<2>>::n == 1)"},
		{"X.a < ::b and c > ::d", "((X.a < ::b) and (c > ::d))"},
		{"X.a < b ? c > ::d : e", "((X.a < b) ? (c > ::d) : e)"},
		{"X.a < b >> 1", "(X.a < (b >> 1))"},
	}
	for _, tt := range tests {
		f, errs := Parse("x", tt.in+";")
		if len(errs) > 0 || len(f.Stmts) != 1 {
			t.Errorf("%s: %v", tt.in, errs)
			continue
		}
		if got := grouped(f.Stmts[0].(*Constraint).Body); got != tt.want {
			t.Errorf("%s: grouped as %s, want %s", tt.in, got, tt.want)
		}
	}
}

// grouped prints every operation in parentheses.
func grouped(e Expr) string {
	switch e := e.(type) {
	case *Paren:
		return grouped(e.X)
	case *Unary:
		if e.Op == "not" {
			return "(not " + grouped(e.X) + ")"
		}
		return "(" + e.Op + grouped(e.X) + ")"
	case *Abs:
		return "|" + grouped(e.X) + "|"
	case *Binary:
		return "(" + grouped(e.X) + " " + e.Op + " " + grouped(e.Y) + ")"
	case *Relation:
		return "(" + grouped(e.X) + " " + relationOp(e) + " " + grouped(e.Y) + ")"
	case *Cond:
		return "(" + grouped(e.C) + " ? " + grouped(e.X) + " : " + grouped(e.Y) + ")"
	case *Index:
		dot := ""
		if e.Dot {
			dot = "."
		}
		return grouped(e.X) + dot + "[" + grouped(e.I) + "]"
	case *Select:
		return grouped(e.X) + "." + e.Name
	case *MinMax:
		return "MIN(" + grouped(e.Args[0]) + ", " + grouped(e.Args[1]) + ")"
	}
	return ExprString(e)
}

// TestStatements holds the specifications of table 2.2 to its numbers.
func TestStatements(t *testing.T) {
	table := map[string]int{
		"circular-list": 3, "doubly-linked-list": 2, "binary-tree": 3, "binary-heap": 4, "b-tree": 6,
		"quad-tree": 4, "avl-tree": 6, "red-black-tree": 9, "leftist-heap": 5, "k-ary-tree": 4,
	}
	for name, limit := range table {
		f, _ := Parse(name, read(t, "../../testdata/specs/"+name+".cons"))
		if n := Statements(f); n > limit || n < 2 {
			t.Errorf("%s: %d statements, table 2.2 has %d", name, n, limit)
		}
	}
}

func TestFormat(t *testing.T) {
	src := "type a;\n\ta X;  X.größe == ;\n"
	_, errs := Parse("x.cons", src)
	if len(errs) != 1 {
		t.Fatal(errs)
	}
	want := "x.cons:2:19: a value is expected here, but there is `;`\n  \ta X;  X.größe == ;\n  \t                 ^\n"
	if diff := cmp.Diff(want, errs[0].Format(src)); diff != "" {
		t.Error(diff)
	}
}

// Many errors are formatted as each alone.
func TestFormatMany(t *testing.T) {
	src := "type a;\n\ta X;  X.größe == ;\r\n\na Y; Y.x = ;"
	_, errs := Parse("x.cons", src)
	errs = append(errs, Error{Msg: "nowhere"}, Error{Pos: Pos{File: "x.cons", Line: 9, Col: 1}, Msg: "behind the end"})
	want := ""
	for _, e := range errs {
		want += e.Format(src)
	}
	if diff := cmp.Diff(want, Format(errs, src)); diff != "" || len(errs) < 4 {
		t.Errorf("%d errors: %s", len(errs), diff)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"left", "right", "parent", "INDEGREE", "OUTDEGREE", "x"}
	for in, want := range map[string]string{"lfet": "left", "Right": "right", "parnt": "parent", "INDEGRE": "INDEGREE", "foo": "", "y": "", "key": ""} {
		if got := Nearest(in, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

// TestCSource: C declarations stay where they are, comments of ours are gone.
func TestCSource(t *testing.T) {
	src := "type ä; struct a {\n  int x; # ä\n  int y; };\na X; X.x == 1;\n"
	f, errs := Parse("x", src)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	want := "        struct a {\n  int x;    \n  int y; };\n              \n"
	if diff := cmp.Diff(want, CSource(f)); diff != "" {
		t.Error(diff)
	}
}

// TestDeep: nesting without end is refused, not followed.
func TestDeep(t *testing.T) {
	for _, s := range []string{"(", "-", "not ", "|", "X[", "a?", "a+(", "MIN(", "{", "struct a {", "X ->(", "a or not "} {
		if _, errs := Parse("x", strings.Repeat(s, 20000)); len(errs) == 0 {
			t.Errorf("%q nested: no error", s)
		}
	}
	for _, s := range []string{"1+", "X.v == 1 and ", "X.v == 1 => "} {
		if _, errs := Parse("x", "c: T X; "+strings.Repeat(s, 20000)+"X.v == 1;"); len(errs) != 1 || !strings.Contains(errs[0].Msg, "in a row") {
			t.Errorf("%q in a row: %v", s, errs)
		}
		if _, errs := Parse("x", "c: T X; "+strings.Repeat(s, 900)+"X.v == 1;"); len(errs) > 0 {
			t.Errorf("%q in a row, 900: %v", s, errs)
		}
	}
	Parse("x", "a"+strings.Repeat("[0]", 20000)+";")
	Parse("x", strings.Repeat("a || ", 20000))
	Parse("x", strings.Repeat("(a ||", 20000))
}

// TestLongLine: of a long line that is shown which lies around the place.
func TestLongLine(t *testing.T) {
	src := strings.Repeat("é", 50_000) + strings.Repeat("(", 50_000)
	for _, col := range []int{1, 100, 152, 153, 50_000, 99_999, 100_000, 100_001} {
		text := Error{Pos: Pos{File: "x", Line: 1, Col: col}, Msg: "no"}.Format(src)
		lines := strings.Split(text, "\n")
		if len(text) > 2000 || len(lines) != 4 {
			t.Fatalf("column %d: %d bytes, %d lines", col, len(text), len(lines))
		}
		shown, caret := []rune(lines[1]), strings.Index(lines[2], "^")
		if want := []rune(src + " ")[col-1]; caret < len(shown) && shown[caret] != want || caret == len(shown) && col <= 100_000 {
			t.Errorf("column %d: the caret is under another character", col)
		}
	}
}

// FuzzParse: no panic, and what parses without errors prints to the same tree.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"testdata/forms.cons", "testdata/errors.cons"} {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, line := range strings.SplitAfter(string(b), "\n") {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, errs := Parse("f", src)
		for _, e := range errs {
			if e.Msg == "" || e.Pos.Line < 1 || e.Pos.Col < 1 {
				t.Fatalf("bad error %+v", e)
			}
			e.Format(src)
		}
		CSource(file)
		if len(errs) > 0 {
			return
		}
		text := Print(file)
		again, errs := Parse("g", text)
		if len(errs) > 0 {
			t.Fatalf("%q\nprinted %q\n%v", src, text, errs)
		}
		if Print(again) != text {
			t.Fatalf("%q\nprinted %q\nagain   %q", src, text, Print(again))
		}
	})
}
