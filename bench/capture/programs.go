package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mgtrace/bench/real/debian"
)

// A command is a program ready to run.
type command struct {
	argv    []string // argv[0] is an absolute path
	stdin   string   // a file; none if empty
	dir     string
	env     []string // in addition to the environment
	modules []string // shared libraries that do the program's work
	spec    string   // a specification, if there is one
}

// A program knows how to make its work.
type program struct {
	name  string
	scale int // amount of work for the full benchmark, in units of its own
	make  func(w *workshop, scale int) (command, error)
}

var programs = []program{
	{"bash", 120_000, script("bash", "shell.bash", "shell.cons")},
	{"perl", 400_000, script("perl", "words.pl", "")},
	{"python3", 550_000, script("python3", "objects.py", "")},
	{"sqlite3", 1_000_000, makeSQLite},
	{"gawk", 900_000, makeGawk},
	{"xz", 3_200_000, makeXZ},
	{"git", 4_000, makeGit},
	{"cc1", 130, makeCC1},
	{"xmllint", 1_000_000, makeXML},
	{"m4", 100_000, makeM4},
	{"index (C)", 7_000, compiled("gcc", "index.c", "index.cons")},
	{"ledger (C++)", 2_500_000, compiled("g++", "ledger.cpp", "ledger.cons", "-pthread")},
}

// A workshop is the temporary directory in which work is made.
type workshop struct {
	source string // the directory work/ of this package
	dir    string
}

// tool finds an executable, in Debian's own directory first: what stands earlier
// in PATH may be a script that chooses one.
func tool(name string) (string, error) {
	path := filepath.Join("/usr/bin", name)
	if _, err := os.Stat(path); err != nil {
		if path, err = exec.LookPath(name); err != nil {
			return "", fmt.Errorf("%s is not installed", name)
		}
	}
	return filepath.EvalSymlinks(path)
}

// run runs a step of the preparation.
func (w *workshop) run(stdin string, argv ...string) error {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.dir, append(os.Environ(), plainEnv...), strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, lastLine(string(out)))
	}
	return nil
}

func (w *workshop) write(name, content string) (string, error) {
	path := filepath.Join(w.dir, name)
	return path, os.WriteFile(path, []byte(content), 0o666)
}

func (w *workshop) spec(name string) string {
	if name == "" {
		return ""
	}
	return filepath.Join(w.source, name)
}

// script is a program that interprets a file of work/, its argument the scale.
func script(interpreter, file, spec string) func(*workshop, int) (command, error) {
	return func(w *workshop, scale int) (command, error) {
		path, err := tool(interpreter)
		return command{
			argv: []string{path, filepath.Join(w.source, file), strconv.Itoa(scale)},
			spec: w.spec(spec),
		}, err
	}
}

// compiled is a program of work/ as a user would build it for release.
func compiled(compiler, file, spec string, flags ...string) func(*workshop, int) (command, error) {
	return func(w *workshop, scale int) (command, error) {
		out := filepath.Join(w.dir, strings.TrimSuffix(file, filepath.Ext(file)))
		args := append([]string{compiler, "-O2", "-g", "-o", out, filepath.Join(w.source, file)}, flags...)
		return command{argv: []string{out, strconv.Itoa(scale)}, spec: w.spec(spec)}, w.run("", args...)
	}
}

func makeSQLite(w *workshop, rows int) (command, error) {
	path, err := tool("sqlite3")
	if err != nil {
		return command{}, err
	}
	stdin, err := w.write("rows.sql", fmt.Sprintf(`
CREATE TABLE item(id INTEGER PRIMARY KEY, word TEXT, number INTEGER, link INTEGER);
WITH RECURSIVE n(i, x) AS (SELECT 1, 12345 UNION ALL SELECT i + 1, (x * 1103515245 + 12345) & 2147483647 FROM n WHERE i < %d)
  INSERT INTO item SELECT i, 'word ' || (x %% 7919), x %% 100003, (x >> 3) %% %[1]d FROM n;
CREATE INDEX byword ON item(word, number);
UPDATE item SET number = number + 1 WHERE id %% 3 = 0;
DELETE FROM item WHERE number %% 10 = 7;
SELECT word, count(*), sum(number) FROM item GROUP BY word ORDER BY 2 DESC, 1 LIMIT 5;
SELECT count(*), sum(a.number - b.number) FROM item a JOIN item b ON b.id = a.link WHERE a.number < 50000;
`, rows))
	return command{argv: []string{path, "-batch", ":memory:"}, stdin: stdin, modules: []string{"libsqlite3.so.0"}, spec: w.spec("pages.cons")}, err
}

func makeGawk(w *workshop, lines int) (command, error) {
	path, err := tool("gawk")
	if err != nil {
		return command{}, err
	}
	text, err := w.write("lines.txt", prose(lines*6, 6))
	return command{argv: []string{path, "-f", filepath.Join(w.source, "fields.awk"), text}}, err
}

func makeXZ(w *workshop, size int) (command, error) {
	path, err := tool("xz")
	if err != nil {
		return command{}, err
	}
	text := prose(size/4, 12)
	file, err := w.write("text", text[:min(size, len(text))])
	return command{argv: []string{path, "-c", "-T1", "-6", file}, modules: []string{"liblzma.so.5"}}, err
}

// makeGit makes a history of commits that each change a few lines of some files.
// Its work is the one walk over it that compares everything: log with patches.
func makeGit(w *workshop, commits int) (command, error) {
	path, err := tool("git")
	if err != nil {
		return command{}, err
	}
	repository := filepath.Join(w.dir, "repository")
	if err := w.run("", path, "init", "-q", "--bare", "-b", "main", repository); err != nil {
		return command{}, err
	}
	const files, length = 20, 400
	var stream strings.Builder
	r := newRandom()
	content := make([][]string, files)
	for f := range content {
		content[f] = strings.SplitAfter(prose(length*8, 8), "\n")[:length]
	}
	for c := range commits {
		fmt.Fprintf(&stream, "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\ndata <<.\ncommit %d\n.\n", 1_600_000_000+c*60, c)
		for range 3 {
			f := r.below(files)
			for range 4 {
				content[f][r.below(length)] = fmt.Sprintf("%s %d %s\n", r.word(), c, r.word())
			}
			text := strings.Join(content[f], "")
			fmt.Fprintf(&stream, "M 644 inline dir%d/file%d\ndata %d\n%s\n", f%4, f, len(text), text)
		}
	}
	if err := w.run(stream.String(), path, "-C", repository, "fast-import", "--quiet"); err != nil {
		return command{}, err
	}
	return command{
		argv: []string{path, "-C", repository, "log", "-p", "--stat", "--no-color", "main"},
		env:  []string{"GIT_PAGER=cat"}, modules: []string{"libz.so.1"},
	}, nil
}

// makeCC1 makes a preprocessed file of the standard headers and many functions.
func makeCC1(w *workshop, functions int) (command, error) {
	out, err := exec.Command("gcc", "-print-prog-name=cc1").Output()
	if err != nil {
		return command{}, fmt.Errorf("gcc -print-prog-name=cc1: %w", err)
	}
	var c strings.Builder
	c.WriteString("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\nstruct s { int a, b[8]; struct s *next; double d; };\n")
	r := newRandom()
	for i := range functions {
		fmt.Fprintf(&c, "int f%d(struct s *p, int n)\n{\n\tint t = %d;\n", i, r.below(1000))
		for range 4 + r.below(4) {
			fmt.Fprintf(&c, "\tfor (int i = 0; i < n %% %d; i++) { p->b[i & 7] += t * %d; if (p->b[%d] > t && p->next) p = p->next, t ^= p->a; }\n",
				2+r.below(50), 1+r.below(99), r.below(8))
		}
		fmt.Fprintf(&c, "\tswitch (t & 7) { case %d: t += (int)sqrt(p->d); break; case 7: printf(\"%%d\\n\", t); }\n\treturn t%s;\n}\n",
			r.below(7), [2]string{"", fmt.Sprintf(" + f%d(p, n - 1)", r.below(max(i, 1)))}[min(i, 1)])
	}
	if _, err := w.write("functions.c", c.String()); err != nil {
		return command{}, err
	}
	err = w.run("", "gcc", "-E", "-P", "-o", "functions.i", "functions.c")
	return command{
		argv: []string{strings.TrimSpace(string(out)), "-fpreprocessed", "-quiet", "-O2", filepath.Join(w.dir, "functions.i"), "-o", "/dev/null"},
	}, err
}

func makeXML(w *workshop, items int) (command, error) {
	path, err := tool("xmllint")
	if err != nil {
		return command{}, err
	}
	var x strings.Builder
	x.WriteString("<?xml version=\"1.0\"?>\n<store>\n")
	r := newRandom()
	for i := range items {
		fmt.Fprintf(&x, "<item id=\"i%d\" kind=\"%s\"><name>%s &amp; %s</name><price>%d</price></item>\n", i, r.word(), r.word(), r.word(), r.below(9999))
	}
	x.WriteString("</store>\n")
	file, err := w.write("store.xml", x.String())
	return command{argv: []string{path, "--format", file}, modules: []string{"libxml2.so.2"}, spec: w.spec("tree.cons")}, err
}

// makeM4 builds m4 from Debian's source package, with debug information and the
// specification of testdata/real.
func makeM4(w *workshop, rounds int) (command, error) {
	root := filepath.Join(w.source, "..", "..", "..")
	sources, err := debian.Open(filepath.Join(root, "out", "real"), filepath.Join(root, "testdata", "real"))
	if err != nil {
		return command{}, err
	}
	m4 := debian.Programs[slices.IndexFunc(debian.Programs, func(p debian.Program) bool { return p.Name == "m4" })]
	built, err := sources.Build(m4, "-O2", nil)
	return command{
		argv: []string{built.Binary, fmt.Sprintf("-Drounds=%d", rounds), filepath.Join(w.source, "symbols.m4")},
		spec: sources.Spec(m4),
	}, err
}

// A random is a linear congruential generator: the same work on every machine and
// with every version of Go.
type random struct{ state uint32 }

func newRandom() *random { return &random{12345} }

// below returns a number in [0, n).
func (r *random) below(n int) int {
	r.state = r.state*1103515245 + 12345
	return int(r.state>>8) % n
}

const syllables = "ba ker lo tin mu sa der fi gon hel ip jar ov qua re su ter un vi wen"

// word returns one of some thousand words, common ones more often.
func (r *random) word() string {
	s := strings.Fields(syllables)
	w := s[r.below(1+r.below(len(s)))] + s[r.below(len(s))]
	if r.below(3) == 0 {
		w += s[r.below(len(s))]
	}
	return w
}

// prose is lines of width words each, words in all.
func prose(words, width int) string {
	var b strings.Builder
	r := newRandom()
	for i := range words {
		b.WriteString(r.word())
		if i%width == width-1 {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
