package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"

	"mgtrace/mgpp"
	"mgtrace/trace"
)

//go:embed testdata
var sources embed.FS

// thesisProgram is one of table 3.1, with its numbers in tables 3.3 and 3.4.
type thesisProgram struct {
	name    string
	argv    []string // DIR is the working directory
	modules []string // whose stores count too
	// Table 3.4, column 2: MB of the MG++ without the allocator; table 3.3, columns 5 and
	// 2: seconds of a run that makes it, and of a native one.
	without        float64
	traced, native float64
}

// thesisPrograms are those of table 3.1. The programs of Debian are newer ones than the
// thesis had, and the inputs are of the kind and size that it names (table 3.2).
var thesisPrograms = []thesisProgram{
	{"ls", []string{"ls", "-R", "DIR/tree"}, nil, 3.8, 2.14, 0.02},
	{"tidy", []string{"tidy", "-q", "-o", "DIR/out.html", "DIR/page.html"}, []string{"libtidy.so"}, 22.4, 8.90, 0.01},
	{"bison", []string{"bison", "-o", "DIR/c.c", "DIR/c.y"}, nil, 2.5, 2.68, 0.06},
	{"python", []string{"/usr/bin/python3", "-S", "-E", "DIR/pagerank.py"}, nil, 137.8, 30.74, 0.09},
	{"perl", []string{"perl", "DIR/search.pl", "DIR/tree"}, nil, 48.1, 26.41, 1.11},
	{"graph colouring", []string{"DIR/coloring"}, nil, 82.3, 37.33, 0.05},
	{"independent set", []string{"DIR/independent"}, nil, 6.3, 47.27, 0.05},
	{"shortest path", []string{"DIR/shortest"}, nil, 47.9, 13.68, 0.06},
}

// inputs makes what the programs work on.
func inputs(dir string) error {
	if err := os.CopyFS(dir, sources); err != nil {
		return err
	}
	entries, err := sources.ReadDir("testdata")
	if err != nil {
		return err
	}
	for _, e := range entries {
		to := filepath.Join(dir, e.Name())
		if err := os.Rename(filepath.Join(dir, "testdata", e.Name()), to); err != nil {
			return err
		}
		if bin, ok := strings.CutSuffix(to, ".c"); ok {
			if out, err := exec.Command("gcc", "-g", "-O2", "-o", bin, to).CombinedOutput(); err != nil {
				return fmt.Errorf("gcc: %w\n%s", err, out)
			}
		}
	}
	for i := range 3300 { // as many as coreutils 8.0 has, in as many directories
		at := filepath.Join(dir, "tree", fmt.Sprintf("d%d", i%7), fmt.Sprintf("d%d", i%29))
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("file-%04d.%c", i, "cho"[i%3])), nil, 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "page.html"), page(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "c.y"), grammar(), 0o644)
}

// page is a page of 19 kB.
func page() []byte {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html><head><title>A page</title></head>\n<body>\n")
	for i := range 120 {
		fmt.Fprintf(&b, "<h2 id=\"s%d\">Section %d</h2>\n<p>Some <b>bold</b> and <i>other</i> text with <a href=\"#s%d\">a link</a>.</p>\n<ul><li>one</li><li>two <code>%d</code></li></ul>\n", i, i, (i*7)%120, i)
	}
	b.WriteString("</body></html>\n")
	return b.Bytes()
}

// grammar is one for a language like C: levels of binary operators, statements,
// declarations; 163 rules.
func grammar() []byte {
	var b bytes.Buffer
	levels := [][]string{{"OROR"}, {"ANDAND"}, {"'|'"}, {"'^'"}, {"'&'"}, {"EQ", "NE"}, {"'<'", "'>'", "LE", "GE"}, {"SHL", "SHR"}, {"'+'", "'-'"}, {"'*'", "'/'", "'%'"}}
	assigns := []string{"'='", "ADDA", "SUBA", "MULA", "DIVA", "MODA", "ANDA", "ORA", "XORA", "SHLA", "SHRA"}
	words := []string{"VOID", "CHAR", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "SIGNED", "UNSIGNED", "CONST", "VOLATILE", "STATIC", "EXTERN", "TYPEDEF", "REGISTER", "AUTO"}
	b.WriteString("%token NAME NUM STRING SIZEOF ARROW INC DEC DOTS OROR ANDAND EQ NE LE GE SHL SHR ADDA SUBA MULA DIVA MODA ANDA ORA XORA SHLA SHRA\n%token ")
	b.WriteString(strings.Join(words, " "))
	b.WriteString("\n%token STRUCT UNION ENUM IF ELSE WHILE DO FOR SWITCH CASE DEFAULT BREAK CONTINUE RETURN GOTO\n%expect 1\n%start unit\n%%\n")
	b.WriteString("unit: external | unit external ;\nexternal: declaration | specifiers declarator block ;\n")
	b.WriteString("primary: NAME | NUM | STRING | '(' expr ')' ;\npostfix: primary | postfix '[' expr ']' | postfix '(' ')' | postfix '(' args ')' | postfix '.' NAME | postfix ARROW NAME | postfix INC | postfix DEC ;\n")
	b.WriteString("args: assign | args ',' assign ;\nunary: postfix | INC unary | DEC unary | op unary | SIZEOF unary ;\nop: '&' | '*' | '+' | '-' | '~' | '!' ;\n")
	last := "unary"
	for i := len(levels) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "level%d: %s", i, last)
		for _, op := range levels[i] {
			fmt.Fprintf(&b, " | level%d %s %s", i, op, last)
		}
		b.WriteString(" ;\n")
		last = fmt.Sprintf("level%d", i)
	}
	fmt.Fprintf(&b, "cond: %s | %s '?' expr ':' cond ;\nassign: cond | unary setop assign ;\nsetop: %s ;\nexpr: assign | expr ',' assign ;\n", last, last, strings.Join(assigns, " | "))
	fmt.Fprintf(&b, "declaration: specifiers ';' | specifiers inits ';' ;\nspecifiers: word | specifiers word ;\nword: %s | record | enumeration ;\n", strings.Join(words, " | "))
	b.WriteString("record: kind NAME '{' members '}' | kind '{' members '}' | kind NAME ;\nkind: STRUCT | UNION ;\nmembers: member | members member ;\nmember: specifiers declarators ';' ;\ndeclarators: declarator | declarators ',' declarator ;\n")
	b.WriteString("enumeration: ENUM '{' names '}' | ENUM NAME '{' names '}' | ENUM NAME ;\nnames: name | names ',' name ;\nname: NAME | NAME '=' cond ;\n")
	b.WriteString("inits: init | inits ',' init ;\ninit: declarator | declarator '=' value ;\nvalue: assign | '{' values '}' | '{' values ',' '}' ;\nvalues: value | values ',' value ;\n")
	b.WriteString("declarator: direct | pointer direct ;\npointer: '*' | '*' pointer ;\ndirect: NAME | '(' declarator ')' | direct '[' cond ']' | direct '[' ']' | direct '(' params ')' | direct '(' ')' ;\nparams: plist | plist ',' DOTS ;\nplist: param | plist ',' param ;\nparam: specifiers declarator | specifiers ;\n")
	b.WriteString("block: '{' '}' | '{' items '}' ;\nitems: item | items item ;\nitem: declaration | statement ;\nstatement: block | ';' | expr ';' | NAME ':' statement | CASE cond ':' statement | DEFAULT ':' statement | IF '(' expr ')' statement | IF '(' expr ')' statement ELSE statement | SWITCH '(' expr ')' statement | WHILE '(' expr ')' statement | DO statement WHILE '(' expr ')' ';' | FOR '(' optional ';' optional ';' optional ')' statement | GOTO NAME ';' | CONTINUE ';' | BREAK ';' | RETURN optional ';' ;\noptional: %empty | expr ;\n")
	return b.Bytes()
}

// measured is what a program costs.
type measured struct {
	native, record, full, infer time.Duration // of processor time, the least of the rounds
	changes                     uint64
	nodes, found                int
	known, free                 float64 // MB of the history: by its allocator, and without
}

// thesis prints the tables of the programs whose names match.
func (b *bench) thesis(only *regexp.Regexp) error {
	if err := inputs(b.dir); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "program\tchanges\tblocks\tMB\tbytes a change\tfound\tMB\tthesis MB\tnative s\trecord\t--full\tthesis\tfinding s\t\n")
	var all measured
	for i := range thesisPrograms {
		p := &thesisPrograms[i]
		if !only.MatchString(p.name) {
			continue
		}
		m, err := b.thesisProgram(p)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", p.name, err)
			continue
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%.1f\t%.1f\t%d\t%.1f\t%.1f\t%.3f\t%.0f×\t%.0f×\t%.0f×\t%.1f\t\n", p.name, m.changes, m.nodes, m.known, m.known*1e6/float64(max(m.changes, 1)), m.found, m.free, p.without,
			m.native.Seconds(), ratio(m.record, m.native), ratio(m.full, m.native), p.traced/p.native, m.infer.Seconds())
		all.changes, all.nodes, all.known = all.changes+m.changes, all.nodes+m.nodes, all.known+m.known
		all.found, all.free = all.found+m.found, all.free+m.free
	}
	fmt.Fprintf(w, "all\t%d\t%d\t%.1f\t%.1f\t%d\t%.1f\t\t\t\t\t\t\t\n", all.changes, all.nodes, all.known, all.known*1e6/float64(max(all.changes, 1)), all.found, all.free)
	return w.Flush()
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, time.Millisecond)) }

func (b *bench) thesisProgram(p *thesisProgram) (m measured, err error) {
	var argv []string
	for _, a := range p.argv {
		argv = append(argv, strings.ReplaceAll(a, "DIR", b.dir))
	}
	path, full := filepath.Join(b.dir, "thesis.mgt"), filepath.Join(b.dir, "full.mgt")
	record := func(more ...string) []string {
		out := append([]string{b.mgtrace, "record"}, more...)
		for _, name := range p.modules {
			out = append(out, "--module", name)
		}
		bin, err := exec.LookPath(argv[0])
		if err != nil {
			bin = argv[0]
		}
		return append(append(out, bin, "--"), argv[1:]...)
	}
	for range b.thesisRounds {
		for _, x := range []struct {
			least *time.Duration
			argv  []string
		}{{&m.native, argv}, {&m.record, record("-o", path)}, {&m.full, record("--full", "-o", full)}} {
			used, err := processor(x.argv)
			if err != nil {
				return m, err
			}
			if *x.least == 0 || used < *x.least {
				*x.least = used
			}
		}
	}
	s, err := historyOf(path)
	if err != nil {
		return m, err
	}
	m.changes, m.nodes, m.known = uint64(s.Ops), s.Nodes, float64(s.Bytes)/1e6
	if m.infer, err = processor([]string{b.mgtrace, "info", full, "--alloc-free", "--allocator", "malloc", "--allocator", "calloc", "--allocator", "realloc(1)"}); err != nil {
		return m, err
	}
	s, err = historyOf(full + ".nodes")
	m.found, m.free = s.Nodes, float64(s.Bytes)/1e6
	return m, err
}

// processor runs a program and returns the processor time that it took, with what it
// started and waited for.
func processor(argv []string) (time.Duration, error) {
	c := exec.Command(argv[0], argv[1:]...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	if err := c.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, stderr.Bytes())
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

// historyOf takes a trace into memory and returns what the history takes there.
func historyOf(path string) (mgpp.Stats, error) {
	r, err := trace.Open(path)
	if err != nil {
		return mgpp.Stats{}, err
	}
	defer r.Close()
	h := mgpp.New(mgpp.Options{})
	for ev := (trace.Event{}); ; {
		run, err := r.NextBatch(&ev)
		if errors.Is(err, io.EOF) {
			return h.Stats(), nil
		}
		if err == nil && run == nil {
			_, err = h.Apply(&ev)
		} else if err == nil {
			_, err = h.ApplyRun(run, r.Sites())
		}
		if err != nil {
			return mgpp.Stats{}, err
		}
	}
}
