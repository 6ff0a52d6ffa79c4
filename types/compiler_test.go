package types

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestAgainstCompilers declares random structures, asks gcc and clang where every field lies
// and what random bytes mean as values, and compares both with ours.
func TestAgainstCompilers(t *testing.T) {
	for _, cc := range []string{"gcc", "clang", "clang-14"} {
		t.Run(cc, func(t *testing.T) {
			if _, err := exec.LookPath(cc); err != nil {
				t.Skipf("no %s: %v", cc, err)
			}
			compareWithCompiler(t, cc, 400)
		})
	}
}

func compareWithCompiler(t *testing.T, cc string, n int) {
	g := &generator{rnd: rand.New(rand.NewSource(20))}
	src := g.declarations(n)
	d, errs := ParseC(src)
	for _, e := range errs {
		t.Fatalf("%v\n%s", e, src)
	}
	var program strings.Builder
	program.WriteString(probeHeader + src + "int main(void) {\n")
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		ask(&program, d.Lookup(name), name, g.bytes(int(d.Lookup(name).Size)))
	}
	program.WriteString("return 0; }\n")
	asked, wrong := 0, 0
	for _, line := range compileAndRun(t, cc, program.String()) {
		f := strings.SplitN(line, " ", 3)
		asked++
		if msg := check(d, f); msg != "" {
			if wrong++; wrong < 20 {
				t.Errorf("%s: %s\n%s", line, msg, g.text[f[1]])
			}
		}
	}
	t.Logf("%d structures, %d questions, %d answers differ", n, asked, wrong)
	if asked < n*3 {
		t.Errorf("the program answered only %d questions", asked)
	}
}

const probeHeader = `#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#pragma GCC diagnostic ignored "-Waddress-of-packed-member"
static void bits(const char *s, const char *f, const void *p, long n) {
	const unsigned char *b = p; long first = -1, count = 0;
	for (long i = 0; i < n * 8; i++) if (b[i/8] >> i%8 & 1) { if (first < 0) first = i; count++; }
	printf("bits %s %s %ld %ld\n", s, f, first, count);
}
`

// ask writes code that prints what the compiler thinks of a structure.
func ask(w *strings.Builder, t *Type, name string, content []byte) {
	fmt.Fprintf(w, "{ struct %s v; printf(\"size %s - %%zu %%zu\\n\", sizeof v, _Alignof(struct %s));\n", name, name, name)
	fmt.Fprintf(w, "static const unsigned char c[] = {")
	for _, b := range content {
		fmt.Fprintf(w, "%d,", b)
	}
	fmt.Fprintf(w, "0}; memcpy(&v, c, sizeof v); (void)c;\n")
	for _, s := range t.Scalars() {
		if p, err := t.Find(s.Path); err != nil || p.Type != s.Type { // an anonymous union has no name to ask for
			continue
		}
		switch {
		case s.BitSize > 0:
			fmt.Fprintf(w, "memset(&v, 0, sizeof v); v.%s = -1; bits(\"%s\", \"%s\", &v, sizeof v); memcpy(&v, c, sizeof v);\n", s.Path, name, s.Path)
		default:
			fmt.Fprintf(w, "printf(\"offset %s %s %%zu %%zu\\n\", (size_t)((char *)&v.%s - (char *)&v), sizeof v.%s);\n", name, s.Path, s.Path, s.Path)
		}
		switch s.Type.Kind {
		case Int, Uint, Enum:
			fmt.Fprintf(w, "printf(\"value %s %s %%lld %s\\n\", (long long)v.%s);\n", name, s.Path, hex.EncodeToString(content), s.Path)
		case Bool: // only 0 and 1 are values; ask where it lies
		case Float:
			if s.Type.Size == 8 || s.Type.Size == 4 {
				fmt.Fprintf(w, "printf(\"float %s %s %%a %s\\n\", (double)v.%s);\n", name, s.Path, hex.EncodeToString(content), s.Path)
			}
		}
	}
	w.WriteString("}\n")
}

// check compares one answer with ours; "" if they agree.
func check(d *Decls, f []string) string {
	t := d.Lookup(f[1])
	rest := strings.Fields(f[2])
	switch f[0] {
	case "size":
		if got := fmt.Sprint(t.Size, " ", t.Alignment()); got != rest[1]+" "+rest[2] {
			return "size and alignment are " + got
		}
		return ""
	}
	p, err := t.Find(rest[0])
	if err != nil {
		return err.Error()
	}
	got := ""
	switch f[0] {
	case "offset":
		got = fmt.Sprint(p.Offset, " ", p.Type.Size)
		rest[1] += " " + rest[2]
	case "bits":
		got = fmt.Sprint(p.Offset*8+int64(p.BitOffset), " ", p.BitSize)
		rest[1] += " " + rest[2]
	case "value", "float":
		content, _ := hex.DecodeString(rest[2])
		v := p.Type.Decode(content[p.Offset:], p.BitOffset, p.BitSize)
		n, _ := v.Int()
		got = strconv.FormatInt(n, 10)
		if f[0] == "float" {
			want, err := strconv.ParseFloat(strings.TrimPrefix(rest[1], "-"), 64)
			if strings.HasPrefix(rest[1], "-") {
				want = -want
			}
			if err == nil && want == v.Float || want != want && v.Float != v.Float {
				return ""
			}
			got = fmt.Sprint(v.Float)
		}
	}
	if got != rest[1] {
		return "ours is " + got
	}
	return ""
}

func compileAndRun(t *testing.T, cc, program string) []string {
	t.Helper()
	dir := t.TempDir()
	src, exe := filepath.Join(dir, "probe.c"), filepath.Join(dir, "probe")
	if err := os.WriteFile(src, []byte(program), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, "-w", "-O0", "-o", exe, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	out, err := exec.Command(exe).Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// generator writes random declarations.
type generator struct {
	rnd  *rand.Rand
	text map[string]string
	made []string
}

func (g *generator) bytes(n int) []byte {
	b := make([]byte, n)
	g.rnd.Read(b)
	return b
}

func (g *generator) pick(s ...string) string { return s[g.rnd.Intn(len(s))] }

func (g *generator) one(n int) bool { return g.rnd.Intn(n) == 0 }

func (g *generator) declarations(n int) string {
	var b strings.Builder
	b.WriteString("enum hue { RED, BLACK };\nenum big { HUGE_ = 1ll << 40 };\nenum neg { MINUS = -1, ZERO };\nenum __attribute__((packed)) tiny { A_, B_ };\n" +
		"typedef unsigned int word;\ntypedef int loose __attribute__((aligned(2)));\ntypedef struct { char c; short s; } pair;\n")
	g.text = map[string]string{}
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		g.text[name] = fmt.Sprintf("struct %s%s {\n%s}%s;\n", g.attribute(8, "__attribute__((packed)) "), name, g.members(0, new(int)), g.attribute(8, " __attribute__((packed))", " __attribute__((aligned(16)))", " __attribute__((packed, aligned(4)))"))
		b.WriteString(g.text[name])
		g.made = append(g.made, "struct "+name)
	}
	return b.String()
}

func (g *generator) attribute(n int, choices ...string) string {
	if g.one(n) {
		return g.pick(choices...)
	}
	return ""
}

func (g *generator) members(depth int, next *int) string {
	var b strings.Builder
	for range 1 + g.rnd.Intn(6) {
		*next++
		g.member(&b, fmt.Sprintf("f%d", *next), depth, next)
	}
	return b.String()
}

func (g *generator) member(b *strings.Builder, name string, depth int, next *int) {
	suffix := g.attribute(15, " __attribute__((aligned(8)))", " __attribute__((packed))", " __attribute__((packed, aligned(2)))")
	switch r := g.rnd.Intn(20); {
	case r < 6:
		t, width := g.bitField()
		switch {
		case g.one(8):
			fmt.Fprintf(b, "\t%s : 0;\n", t)
		case g.one(6):
			fmt.Fprintf(b, "\t%s : %d;\n", t, width)
		default:
			fmt.Fprintf(b, "\t%s %s : %d%s;\n", t, name, width, suffix)
		}
	case r < 8 && depth < 3:
		fmt.Fprintf(b, "\t%s %s{\n%s\t}%s %s%s;\n", g.pick("struct", "struct", "union"), g.attribute(8, "__attribute__((packed)) "),
			g.members(depth+1, next), g.attribute(8, " __attribute__((packed))"), g.pick("", name), g.pick("", ""))
	case r < 9 && len(g.made) > 0:
		fmt.Fprintf(b, "\t%s %s%s;\n", g.made[g.rnd.Intn(len(g.made))], name, g.array())
	case r < 11:
		fmt.Fprintf(b, "\t%s;\n", fmt.Sprintf(g.pick("void *%s", "struct later **%s", "int (*%s)(int, char *)", "char (*%s)[4]", "void (*%s[2])(void)", "const char *const %s[3]"), name))
	default:
		fmt.Fprintf(b, "\t%s %s%s%s;\n", g.scalar(), name, g.array(), suffix)
	}
}

func (g *generator) array() string {
	switch g.rnd.Intn(8) {
	case 0:
		return "[3]"
	case 1:
		return "[2][1 + sizeof(short)]"
	}
	return ""
}

func (g *generator) scalar() string {
	return g.pick("char", "signed char", "unsigned char", "short", "unsigned short int", "int", "unsigned", "long", "unsigned long long", "long int unsigned",
		"float", "double", "long double", "_Bool", "bool", "int8_t", "uint16_t", "int32_t", "uint64_t", "size_t", "enum hue", "enum big", "enum neg", "enum tiny", "word", "loose", "pair", "__int128")
}

func (g *generator) bitField() (string, int) {
	t := g.pick("int", "unsigned", "char", "unsigned char", "short", "long", "unsigned long", "enum hue", "enum neg", "_Bool", "long long", "uint8_t", "word")
	limit := map[string]int{"char": 8, "unsigned char": 8, "uint8_t": 8, "short": 16, "_Bool": 1, "long": 64, "unsigned long": 64, "long long": 64}[t]
	if limit == 0 {
		limit = 32
	}
	return t, 1 + g.rnd.Intn(limit)
}
