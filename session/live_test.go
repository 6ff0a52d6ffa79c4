package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"mgtrace/constraints/check"
	"mgtrace/doctor"
	"mgtrace/mgpp"
	"mgtrace/objfile"
	"mgtrace/report"
	"mgtrace/session/symbol"
	"mgtrace/session/typing"
	"mgtrace/target/mem"
	"mgtrace/trace"
	"mgtrace/x86"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"mgtrace/session/specfile"
)

// list links its nodes both ways; the third node's back pointer is missing.
const list = `
#include <stdio.h>
#include <stdlib.h>
struct node { int key; struct node *next, *prev; };
struct node *head;
char *text;
void append(int key) {
	text = malloc(20);
	struct node *n = malloc(sizeof *n), *last = head;
	n->key = key;
	n->next = n->prev = NULL;
	if (!head) { head = n; return; }
	while (last->next) last = last->next;
	last->next = n;
	if (key != 3) n->prev = last;
}
void done(void) {}
int main(int argc, char **argv) {
	int count = argc > 1 ? atoi(argv[1]) : 5;
	for (int i = 1; i <= count; i++) append(i);
	done();
	puts("all written");
	return 0;
}
`

const listSpec = `
type node;
back: node X; node Y; X.next == Y => Y.prev == X;
cpoint append;
`

// write makes a file and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// compile makes a program of C source.
func compile(t *testing.T, source string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	bin := filepath.Join(dir, "prog")
	cmd := exec.Command("gcc", append([]string{"-g", "-O0", "-o", bin, write(t, dir, "prog.c", source)}, flags...)...)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return bin
}

// capable skips where programs can not be watched, with the reason.
func capable(t *testing.T) {
	t.Helper()
	for _, f := range doctor.Check() {
		if f.Required && !f.OK {
			t.Skipf("%s: %s", f.Name, f.Detail)
		}
	}
}

// quiet gives the programs that are run an output of their own.
func quiet(t *testing.T) (output func() string) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "stdout"))
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 0)
	if err := errors.Join(err, unix.Dup2(int(f.Fd()), 1)); err != nil {
		t.Fatal(err)
	}
	restore := func() {
		if stdout >= 0 {
			_ = errors.Join(unix.Dup2(stdout, 1), unix.Close(stdout), f.Close())
			stdout = -1
		}
	}
	t.Cleanup(restore)
	return func() string {
		restore()
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
}

// TestCutTrace: a trace that is cut off is checked as far as it goes, and its
// report says that it is partial.
func TestCutTrace(t *testing.T) {
	capable(t)
	bin, dir := compile(t, list), t.TempDir()
	whole := filepath.Join(dir, "whole.mgt")
	ao := AnalysisOptions{Spec: write(t, dir, "list.cons", listSpec)}
	output := quiet(t)
	_, err := Record(context.Background(), RunOptions{Program: bin, Analysis: ao, Record: whole})
	if got := output(); err != nil || got != "all written\n" {
		t.Fatalf("%v; the program wrote %q", err, got)
	}
	r, err := Locate(context.Background(), whole, ao)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Complete || len(r.CPoints) != 1 || r.CPoints[0].Function != "append" || r.CPoints[0].Call != 3 {
		t.Fatalf("the whole trace: %+v", r)
	}
	data, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	partial, refused := 0, 0
	for i := range 24 {
		n := len(data) * i / 24
		cut := write(t, dir, "cut.mgt", string(data[:n]))
		r, err := Locate(context.Background(), cut, ao)
		switch {
		case err != nil:
			refused++
			if !strings.Contains(err.Error(), "cut.mgt") {
				t.Errorf("cut at %d: %v does not name the file", n, err)
			}
		case r.Complete || len(r.Why) == 0:
			t.Errorf("cut at %d of %d: the report does not say that it is partial: %+v", n, len(data), r)
		default:
			partial++
		}
	}
	last, err := Locate(context.Background(), write(t, dir, "cut.mgt", string(data[:len(data)-1])), ao)
	if err != nil || last.Complete {
		t.Errorf("cut at the last byte: %+v, %v", last, err)
	}
	t.Logf("%d bytes: %d cuts read, %d refused", len(data), partial, refused)
}

// TestDiskFull: the summary says so, and the program ends as it does alone.
func TestDiskFull(t *testing.T) {
	capable(t)
	bin, dir := compile(t, `
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) { /* writes what can not be compressed */
	unsigned long *p = malloc(8), x = 1;
	for (int i = 0; i < 250000; i++) *p = x = x * 6364136223846793005 + 1442695040888963407;
	sleep(1); /* the disk is full by now */
	puts("all written");
	return 0;
}
`), t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("mount a small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	path := filepath.Join(dir, "t.mgt")
	output := quiet(t)
	s, err := Record(context.Background(), RunOptions{Program: bin, Record: path})
	switch {
	case err != nil:
		t.Errorf("the error: %v", err)
	case s.Complete || !errors.Is(s.Lost, syscall.ENOSPC) || !strings.Contains(s.Why, path):
		t.Errorf("the summary: %+v", s)
	}
	if got := output(); got != "all written\n" {
		t.Errorf("the program was harmed: it wrote %q", got)
	}
}

// TestCore: what is broken in a core file, by the types of its pointers, and nothing else:
// what static memory leads to is there.
func TestCore(t *testing.T) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip(err)
	}
	bin, dir := compile(t, list), t.TempDir()
	core := filepath.Join(dir, "core")
	out, err := exec.Command(gdb, "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "break done", "-ex", "run", "-ex", "generate-core-file "+core, "-ex", "kill", bin).CombinedOutput()
	if _, missing := os.Stat(core); missing != nil {
		t.Skipf("gdb made no core file: %v: %s", err, out)
	}
	ao := AnalysisOptions{Spec: write(t, dir, "list.cons", "type node;\nglobal head;\nback: node X; node Y; X.next == Y => Y.prev == X;\nfirst: node X; X.key == 1 => ::head == X;\ncpoint append;\n"), Pictures: filepath.Join(dir, "pictures")}
	r, err := Check(context.Background(), core, "", ao)
	if err != nil {
		t.Fatal(err)
	}
	if r.Checked.Objects["node"] != 5 || len(r.CPoints) != 1 || len(r.CPoints[0].Inconsistencies) != 1 || len(r.CPoints[0].Suspects) != 0 || len(r.Warnings) > 0 {
		t.Fatalf("%+v", r)
	}
	inc := r.CPoints[0].Inconsistencies[0]
	if inc.Constraint != "back" || len(inc.Values) != 2 || inc.Values[0].Fields[0] != (report.Field{Name: "key", Value: "2"}) {
		t.Errorf("%+v", inc)
	}
	if _, err := os.Stat(filepath.Join(ao.Pictures, "cpoint.svg")); err != nil {
		t.Error(err)
	}
	if r, err := Check(context.Background(), core, bin, ao); err != nil || !r.Found() {
		t.Errorf("with the program named: %+v, %v", r, err)
	}
	ao.Pictures = filepath.Join(bin, "pictures")
	if r, err := Check(context.Background(), core, bin, ao); err != nil || !r.Found() || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "write pictures: ") {
		t.Errorf("without a place for pictures: %+v, %v", r, err)
	}
	cut, err := os.ReadFile(core)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 16 { // never a panic; partial, or refused
		r, err := Check(context.Background(), write(t, dir, "cut", string(cut[:len(cut)*i/16])), bin, ao)
		if err == nil && r.Complete {
			t.Errorf("cut at %d/16: the report is complete", i)
		}
	}
}

// TestCoreTable: a table of chains to which a variable of a function leads is whole, though the
// core file has malloc's sizes only, and names are as large as items.
func TestCoreTable(t *testing.T) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip(err)
	}
	bin, dir := compile(t, `
#include <stdlib.h>
#include <string.h>
struct item { struct item *next; char *name; };
struct table { struct item **slots; int size; };
void done(void) {}
int main(void)
{
	struct table *t = malloc(sizeof *t);
	t->size = 8;
	t->slots = calloc(t->size, sizeof *t->slots);
	for (int i = 0; i < 20; i++) {
		struct item *it = malloc(sizeof *it);
		it->name = strdup("a name of item");
		it->next = t->slots[i * 5 % 8];
		t->slots[i * 5 % 8] = it;
	}
	done();
	return t->size != 8;
}
`), t.TempDir()
	core := filepath.Join(dir, "core")
	out, err := exec.Command(gdb, "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "break done", "-ex", "run", "-ex", "generate-core-file "+core, "-ex", "kill", bin).CombinedOutput()
	if _, missing := os.Stat(core); missing != nil {
		t.Skipf("gdb made no core file: %v: %s", err, out)
	}
	spec := "type item;\ntype table;\nARRAY slots OF item *;\ntogether table, item, slots;\n" +
		"reach: table T; item E; T ->> E;\none: item E; E.INDEGREE == 1;\nroom: table T; T.slots.COUNT == T.size;\n"
	r, err := Check(context.Background(), core, "", AnalysisOptions{Spec: write(t, dir, "table.cons", spec)})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("warnings: %q", r.Warnings)
	}
	if o := r.Checked.Objects; o["item"] != 20 || o["table"] != 1 || o["slots"] != 1 || len(r.CPoints) > 0 {
		t.Errorf("%v, found %+v, warnings %q", o, r.CPoints, r.Warnings)
	}
}

// TestCoreSizes: what is taken as a node by its size alone is said.
func TestCoreSizes(t *testing.T) {
	gdb, err := exec.LookPath("gdb")
	if err != nil {
		t.Skip(err)
	}
	bin, dir := compile(t, `
#include <stdlib.h>
struct item { struct item *next; char name[40]; };
void *hidden;
void done(void) {}
int main(void)
{
	struct item *it = calloc(1, sizeof *it);
	hidden = it;
	it = NULL;
	done();
	return 0;
}
`), t.TempDir()
	core := filepath.Join(dir, "core")
	out, err := exec.Command(gdb, "-q", "-batch", "-nx", "-ex", "set debuginfod enabled off", "-ex", "break done", "-ex", "run", "-ex", "generate-core-file "+core, "-ex", "kill", bin).CombinedOutput()
	if _, missing := os.Stat(core); missing != nil {
		t.Skipf("gdb made no core file: %v: %s", err, out)
	}
	r, err := Check(context.Background(), core, "", AnalysisOptions{Spec: write(t, dir, "item.cons", "type item;\nitem X; X.next == NULL;\n")})
	if err != nil {
		t.Fatal(err)
	}
	if r.Checked.Objects["item"] != 1 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "by size alone") {
		t.Errorf("%v, warnings %q", r.Checked.Objects, r.Warnings)
	}
}

// TestTyping asks for the types of what each call of a function allocates.
func TestTyping(t *testing.T) {
	bin := compile(t, `
#include <stdlib.h>
struct a { int x[6]; };
struct b { long x[5]; };
struct c { long x[5]; };
struct a *pa; struct b *pb; struct c *pc; void *keep;
void hold(void *p) { keep = p; }
void *make(void) { return calloc(1, 24); }
int main(void) {
	pa = malloc(24);
	hold(malloc(24));
	hold(malloc(40));
	hold(malloc(24));
	hold(make()); hold(make());
	return 0;
}
`)
	f, err := objfile.Open(bin, objfile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	lo, hi := f.LoadRange()
	const bias = 0x10000
	im := symbol.Image{Module: trace.Module{Path: bin, Lo: trace.Addr(bias + lo), Hi: trace.Addr(bias + hi), Bias: bias, Traced: true}, Obj: f}
	symbols := symbol.New([]symbol.Image{im}, &symbol.Sources{})
	returns := returnsIn(t, f, "main")
	stack := func(i int) []trace.Addr { return []trace.Addr{bias + trace.Addr(returns[i])} }
	made := []trace.Addr{bias + trace.Addr(returnsIn(t, f, "make")[0])}
	type ask struct {
		stack []trace.Addr
		size  uint64
		want  string
	}
	for _, c := range []struct {
		name, spec string
		asks       []ask
		warn       []string
	}{
		{"debug information and size", "type a;\ntype b;\ntype c;\n", []ask{
			{stack(0), 24, "a"}, {stack(1), 24, "a by size"}, {stack(1), 24, "a by size"}, {stack(3), 40, "-"},
			{stack(5), 24, "a by size"}, {stack(5), 32, "-"}, {stack(5), 24, "-"}, {nil, 24, "-"},
		}, []string{"prog.c:11 allocates 24 bytes, taken as a by size alone", "prog.c:13 allocates blocks of several sizes"}},
		{"rules", "type a;\ntype b;\nalloc b at make;\nalloc a at prog.c:12;\nalloc a at prog.c:10;\n", []ask{
			{append(made, stack(7)...), 24, "b alloc rule"}, {stack(3), 40, "a alloc rule"}, {stack(1), 24, "-"},
		}, []string{"alloc a at prog.c:10: no block was allocated there"}},
		{"one of two calls", "type a;\ntype b;\nalloc b at prog.c:14 call 3;\n", []ask{
			{append(made, stack(7)...), 24, "a by size"}, {append(made, stack(9)...), 24, "b alloc rule"},
		}, nil},
	} {
		spec, err := specfile.Load(write(t, t.TempDir(), "s.cons", c.spec), &symbol.Program{Objs: []*objfile.File{f}, Sources: symbols.Sources})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		ty := typing.New(spec, symbols)
		interned := map[string][]trace.Addr{}
		for i, a := range c.asks {
			key := fmt.Sprint(a.stack)
			if interned[key] == nil {
				interned[key] = append([]trace.Addr(nil), a.stack...)
			}
			nt, _, why := ty.TypeOf(mgpp.Node{ID: mgpp.NodeID(i + 1), Size: a.size, Stack: interned[key]})
			got := "-"
			if nt != nil {
				got = nt.Name
				if why == "by size" || why == "alloc rule" {
					got += " " + why
				}
			}
			if got != a.want {
				t.Errorf("%s, %d: %s (%s), want %s", c.name, i, got, why, a.want)
			}
		}
		sized := strings.Join(ty.Warnings(func(*check.NodeType) bool { return false }), "\n")
		if strings.Contains(sized, "alloc b at") {
			t.Errorf("%s: a rule that is followed: %s", c.name, sized)
		}
		for _, w := range c.warn {
			if !strings.Contains(sized, w) {
				t.Errorf("%s: no warning %q in %q", c.name, w, sized)
			}
		}
	}
}

// returnsIn lists the return addresses of the calls of a function, in order.
func returnsIn(t *testing.T, f *objfile.File, name string) (out []uint64) {
	t.Helper()
	fns := f.FuncsNamed(name)
	if len(fns) != 1 {
		t.Fatalf("%d functions %s", len(fns), name)
	}
	lo, hi := fns[0].Ranges[0][0], fns[0].Ranges[0][1]
	for code := f.Code(lo, int(hi-lo)); len(code) > 0; {
		in, err := x86.Decode(code, lo)
		if err != nil {
			t.Fatal(err)
		}
		lo, code = lo+uint64(in.Len), code[in.Len:]
		if in.Kind == x86.KindCall {
			out = append(out, lo)
		}
	}
	return out
}

// TestImages: every mapped file is an image once, the program's first, with or
// without symbols.
func TestImages(t *testing.T) {
	bin := compile(t, "int main(void) { return 0; }\n")
	dir := t.TempDir()
	text := write(t, dir, "libtext.so", "no ELF file")
	maps := []mem.Map{
		{Lo: 0x1000, Hi: 0x2000, Exec: true, Path: text},
		{Lo: 0x10000, Hi: 0x11000, Path: bin},
		{Lo: 0x11000, Hi: 0x12000, Exec: true, Offset: 0x1000, Path: bin},
		{Lo: 0x12000, Hi: 0x13000, Exec: true, Offset: 0x1000, Path: bin},
		{Lo: 0x20000, Hi: 0x21000, Exec: true, Path: "[vdso]"},
		{Lo: 0x30000, Hi: 0x31000, Exec: true, Path: "/memfd:generated code", Deleted: true},
		{Lo: 0x31000, Hi: 0x32000, Exec: true, Path: "/usr/lib/replaced.so", Deleted: true},
	}
	images := symbol.Load(maps, bin, "", []string{"libtext.so"}, objfile.Options{})
	var got []string
	for _, im := range images {
		got = append(got, fmt.Sprintf("%s %v %v %#x", filepath.Base(im.Path), im.Err == nil, im.Traced, uint64(im.Bias)))
		if (im.Obj == nil) != (im.Err != nil) {
			t.Errorf("%s: %v", im.Path, im.Err)
		}
	}
	if d := cmp.Diff([]string{"prog true true 0x10000", "libtext.so false true 0x0", "replaced.so false false 0x0"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
