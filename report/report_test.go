package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// faulty is a report in which everything is there.
func faulty() *Report {
	status := 0
	return &Report{
		Program: "/bin/quad", Engine: "ebpf", Complete: true,
		Events:  Events{Delivered: 1234567, UnprobedSites: 1, Sites: 80, Changes: 48213, Stops: 2},
		Exit:    &Exit{Status: &status},
		Checked: Checked{CPoints: 512, Partly: 3, Objects: map[string]int{"qdtree": 2049, "pt": 1}},
		CPoints: []CPoint{{
			Kind: "return", Function: "insert", File: "quad.c", Line: 62, Timestamp: 48200, Call: 511,
			Inconsistencies: []Inconsistency{{
				Constraint: "c3", Source: "qdtree X; qdtree Y; X -> Y => X.OUTDEGREE == 4;", Nodes: map[string]string{"X": "qdtree#1", "Y": "qdtree#3"},
				Reason: "X.OUTDEGREE is 3", Total: 1200,
				Values: []NodeValues{{Node: "qdtree#1", Addr: "0x5580a2c0", Fields: []Field{{"posX", "0"}, {"child[0]", "NULL"}}}, many()},
			}, {Constraint: "c1", Reason: "X is shared", Total: 1, Nodes: map[string]string{"X": "qdtree#1"}, Since: "present since recording began", Sources: []Field{{"X.INDEGREE", "qdtree#2.child[0], qdtree#3.child[1]"}}}},
			Notes: []string{"2 inconsistencies were present when recording began"},
			Suspects: []Suspect{
				{
					Rank: 1, File: "quad.c", Line: 35, Column: 25, Function: "split", Source: "node->child[0] = NULL;", Timestamp: 48112,
					Change: "qdtree#1.child[0]: qdtree#2 → NULL", Contributes: []string{"c3"}, Kind: "wrote",
					Why: "Without this change, the inconsistency would be gone.", Also: []string{"it turned a constraint from true to false"},
					Evidence: []string{"without it, the inconsistency would be gone", "it turned a constraint from true to false"}, When: "change 48,112, in call 511 of insert",
					Address: "split+0x1c (quad)", Operations: 1, Inlined: []Place{{File: "quad.c", Line: 80, Function: "insert"}},
					Context: []Line{{34, "\tif (x)"}, {35, "\t\tnode->child[0] = NULL;"}, {36, ""}}, Before: "b.svg", After: "a.svg",
				},
				{Rank: 2, Address: "0x401136", Kind: "wrote", Change: "8 bytes at 0x1000"},
				{Rank: 3, File: "quad.c", Line: 40, Function: "link", Source: "q->prev = n;", Kind: "omitted", Change: "missing: qdtree#2.prev = qdtree#1",
					Why: "It should have set qdtree#2.prev = qdtree#1 here."},
				{Rank: 4, File: "quad.c", Line: 50, Column: 3, Function: "link", Source: "q->next = n;", Kind: "wrote", Why: "It changed what c3 depends on.",
					Change: "qdtree#4.next: qdtree#5 → qdtree#6, " + strings.Repeat("and so on ", 8), When: "change 7, in call 2 of link",
					Callers: []Place{{File: "quad.c", Line: 90, Function: "fill"}, {File: "quad.c", Function: "main"}}, // of no line
					Context: []Line{{49, "{"}, {50, "\tq->next = n;"}, {51, "}"}}},
			},
			Pictures: []string{"cpoint.svg"},
			Steps: []Step{
				{Timestamp: 48000, Place: "all is well at the return of insert, call 510", Broken: []int{}},
				{Timestamp: 48112, File: "quad.c", Line: 35, Column: 25, Function: "split", When: "change 48,112, in call 511 of insert", Change: "qdtree#1.child[0]: qdtree#2 → NULL", Suspect: 1, LeftOut: 3, Broken: []int{0}},
				{Timestamp: 48200, Place: "3 inconsistencies at the return of insert"},
			},
		}},
		Audit: &Audit{Nodes: 2049, Bytes: 98352, Unseen: 5, Libraries: []string{"libforest.so.1"},
			Where: []string{"qdtree#9.posX (1 byte): no write to it was seen", "two", "three", "four", "five"}},
		Unprobed: []Place{{File: "quad.c", Line: 9, Function: "main", Text: "xrstor [rdi]: not known"}},
		Warnings: []string{"type pt is never allocated"},
		Notes:    []string{"1 child processes were forked; they ran on untraced"},
	}
}

func many() NodeValues {
	v := NodeValues{Node: "btree#1", Addr: "0x1000"}
	for i := range 20 {
		v.Fields = append(v.Fields, Field{"key[" + string(rune('a'+i)) + "]", "1"})
	}
	return v
}

func TestText(t *testing.T) {
	one, zero, seven := 1, 0, 7
	cases := []struct {
		name string
		r    *Report
		o    TextOptions
	}{
		{"faulty", faulty(), TextOptions{}},
		{"faulty-verbose", faulty(), TextOptions{Verbose: true}},
		{"faulty-colour", faulty(), TextOptions{Color: true}},
		{"healthy", &Report{Program: "ls", Complete: true, Events: Events{Changes: 1}, Checked: Checked{CPoints: 1}, Exit: &Exit{Status: &seven}}, TextOptions{}},
		{"unchecked", &Report{Program: "ls", Complete: true, Exit: &Exit{Status: &zero}}, TextOptions{}},
		{"partial", &Report{Program: "ls", Why: []string{"3 events were lost", "the trace has no end"}, Events: Events{Dropped: 3, Changes: 10}, Checked: Checked{CPoints: 2}}, TextOptions{}},
		{"crash", &Report{Program: "wild", Complete: true, Exit: &Exit{Signal: "SIGSEGV", File: "wild.c", Line: 9}, Checked: Checked{CPoints: 1},
			CPoints: []CPoint{{Kind: "crash", File: "wild.c", Line: 9, Temporary: true, Inconsistencies: []Inconsistency{{Constraint: "wild", Reason: "node#1.next leads to no node", Total: 1}}}}}, TextOptions{}},
		{"crash-settled", &Report{Program: "wild", Complete: true, Exit: &Exit{Signal: "SIGSEGV", File: "wild.c", Line: 9}, Checked: Checked{CPoints: 1},
			CPoints: []CPoint{{Kind: "crash", File: "wild.c", Line: 9, Inconsistencies: []Inconsistency{{Constraint: "wild", Reason: "node#1.next leads to no node", Total: 1}}}}}, TextOptions{}},
		{"unfound", &Report{Program: "wild", Complete: true, Exit: &Exit{Signal: "SIGABRT", Where: "abort+0xd3"}, Checked: Checked{CPoints: 1}}, TextOptions{}},
		{"killed", &Report{Program: "wild", Complete: true, Exit: &Exit{Signal: "SIGTERM"}, Checked: Checked{CPoints: 1}}, TextOptions{}},
		{"held", &Report{Program: "sleep", Exit: &Exit{Held: "timeout"}, Why: []string{"mgtrace ended the program (timeout)"}, Checked: Checked{CPoints: 1}}, TextOptions{}},
	}
	for name, c := range map[string]CPoint{
		"entry": {Kind: "entry"}, "exit": {Kind: "exit"}, "line": {Kind: "line", File: "a.c", Line: 7},
		"fault": {Kind: "line", Fault: "bounds", File: "a.c", Line: 7}, "core": {Kind: "crash", Core: true},
	} {
		c.Function, c.Inconsistencies = "f", []Inconsistency{{Constraint: "c1", Reason: "X.a is 1"}}
		cases = append(cases, struct {
			name string
			r    *Report
			o    TextOptions
		}{"kind-" + name, &Report{Program: "p", Complete: true, Exit: &Exit{Status: &one}, CPoints: []CPoint{c}}, TextOptions{}})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := c.r.Text(&b, c.o); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", c.name+".txt")
			if *update {
				if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), b.String()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// contract is the form of the JSON report that other tools rely on: its keys
// with the kinds of their values. More keys may come; none of these may go or
// change.
const contract = `{
	"version": 1, "program": "", "engine": "", "complete": true,
	"events": {"delivered": 0, "dropped": 0, "unprobed_sites": 0},
	"exit": {},
	"cpoints": [{
		"kind": "", "function": "", "file": "", "line": 0, "timestamp": 0,
		"inconsistencies": [{"constraint": "", "nodes": {"X": "", "Y": ""}, "reason": ""}],
		"suspects": [{
			"rank": 1, "file": "", "line": 0, "function": "", "source": "", "timestamp": 0,
			"change": "", "contributes": [""], "evidence": [""], "kind": ""
		}]
	}]
}`

// holds reports what of want is not in have, key by key.
func holds(t *testing.T, path string, want, have any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		have, ok := have.(map[string]any)
		if !ok {
			t.Errorf("%s is no object", path)
		}
		for k, v := range want {
			if h, ok := have[k]; ok {
				holds(t, path+"."+k, v, h)
			} else {
				t.Errorf("%s has no key %s", path, k)
			}
		}
	case []any:
		have, ok := have.([]any)
		if !ok || len(have) == 0 {
			t.Errorf("%s is no list with an element: %v", path, have)
			return
		}
		holds(t, path+"[0]", want[0], have[0])
	default:
		if kind(want) != kind(have) {
			t.Errorf("%s is %v, not a %s", path, have, kind(want))
		}
	}
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "truth value"
	}
	return "nothing"
}

func encode(t *testing.T, r *Report) map[string]any {
	t.Helper()
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&b)
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Error("more than one JSON value")
	}
	return v
}

func TestContract(t *testing.T) {
	var want any
	if err := json.Unmarshal([]byte(contract), &want); err != nil {
		t.Fatal(err)
	}
	have := encode(t, faulty())
	holds(t, "report", want, have)
	if have["version"] != 1.0 {
		t.Errorf("version %v", have["version"])
	}
	if d := cmp.Diff(map[string]any{"status": 0.0}, have["exit"]); d != "" {
		t.Errorf("exit (-want +got):\n%s", d)
	}
	crash := encode(t, &Report{Exit: &Exit{Signal: "SIGSEGV", File: "a.c", Line: 3}})
	if d := cmp.Diff(map[string]any{"signal": "SIGSEGV", "file": "a.c", "line": 3.0}, crash["exit"]); d != "" {
		t.Errorf("exit (-want +got):\n%s", d)
	}
}

// TestAlwaysThere: a tool may use the keys of the contract, and loop over its
// lists, without asking whether they are there.
func TestAlwaysThere(t *testing.T) {
	r := &Report{CPoints: []CPoint{{Kind: "exit"}, {Inconsistencies: []Inconsistency{{}}, Suspects: []Suspect{{}}}}}
	have := encode(t, r)
	points := have["cpoints"].([]any)
	for _, k := range []string{"inconsistencies", "suspects"} {
		if _, ok := points[0].(map[string]any)[k].([]any); !ok {
			t.Errorf("%s is no list", k)
		}
	}
	for _, k := range []string{"kind", "function", "file", "line", "timestamp"} {
		if _, ok := points[0].(map[string]any)[k]; !ok {
			t.Errorf("a C-point has no key %s", k)
		}
	}
	if v, ok := have["exit"]; !ok || v != nil {
		t.Errorf("an end that was not seen is %v", v)
	}
	inc := points[1].(map[string]any)["inconsistencies"].([]any)[0].(map[string]any)
	if _, ok := inc["nodes"].(map[string]any); !ok {
		t.Errorf("nodes is no object: %v", inc["nodes"])
	}
	s := points[1].(map[string]any)["suspects"].([]any)[0].(map[string]any)
	for _, k := range []string{"contributes", "evidence"} {
		if _, ok := s[k].([]any); !ok {
			t.Errorf("%s is no list", k)
		}
	}
	if _, ok := encode(t, &Report{})["cpoints"].([]any); !ok {
		t.Error("cpoints is no list")
	}
}

// TestSteps: what is not known is null, and not an empty list.
func TestSteps(t *testing.T) {
	steps := encode(t, faulty())["cpoints"].([]any)[0].(map[string]any)["steps"].([]any)
	var broken []any
	for _, s := range steps {
		broken = append(broken, s.(map[string]any)["broken"])
	}
	if d := cmp.Diff([]any{[]any{}, []any{0.0}, nil}, broken); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got, want := faulty().CPoints[0].Steps[1].Title(), "change 48,112, in call 511 of insert: quad.c:35:25 in split"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{
		"a=1 b=1 c=1 d=1":                  "a=1 b=1 c=1 d=1",
		"k[0]=1 k[1]=1":                    "k[0]=1 k[1]=1",
		"k[0]=1 k[1]=1 k[2]=1":             "k[0..2]=1",
		"k[0]=2 k[1]=1 k[2]=1 k[3]=1 n=1":  "k[0]=2 k[1..3]=1 n=1",
		"k[0]=1 k[1]=1 j[2]=1 k[3]=1":      "k[0]=1 k[1]=1 j[2]=1 k[3]=1",
		"k[0]=1 k[1]=1 k[3]=1 k[4]=1":      "k[0]=1 k[1]=1 k[3]=1 k[4]=1",
		"k[0].a=1 k[1].a=1 k[2].a=1 k[x]=": "k[0].a=1 k[1].a=1 k[2].a=1 k[x]=",
	} {
		var fields []Field
		for f := range strings.FieldsSeq(in) {
			name, value, _ := strings.Cut(f, "=")
			fields = append(fields, Field{name, value})
		}
		var got []string
		for _, f := range Fold(fields) {
			got = append(got, f.Name+"="+f.Value)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", in, s, want)
		}
	}
}

func TestHeadline(t *testing.T) {
	for want, r := range map[string]*Report{
		"a.c:7: bounds (change 4)":                {CPoints: []CPoint{{Fault: "bounds", File: "a.c", Line: 7, Timestamp: 4, Inconsistencies: []Inconsistency{{}}}}},
		"died of SIGSEGV, no inconsistency found": {Exit: &Exit{Signal: "SIGSEGV"}, Checked: Checked{CPoints: 1}},
		"nothing was checked":                     {},
		"no inconsistency found":                  {Checked: Checked{CPoints: 1}},
	} {
		if got := r.Headline(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, c := range []struct {
		r    Report
		want int
	}{
		{Report{}, 0},
		{Report{CPoints: []CPoint{{}}}, 1},
		{Report{CPoints: []CPoint{{}}, Exit: &Exit{Signal: "SIGSEGV"}}, 1},
		{Report{Exit: &Exit{Signal: "SIGSEGV"}}, 3},
		{Report{Exit: &Exit{Signal: "SIGTERM", Held: "timeout"}}, 0},
	} {
		if got := c.r.Status(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.r, got, c.want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[uint64]string{0: "0", 999: "999", 1000: "1,000", 48112: "48,112", 1<<64 - 1: "18,446,744,073,709,551,615"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

// TestNoColour: without colour no escape sequence is printed, with it the text
// is the same.
func TestNoColour(t *testing.T) {
	var plain, colour bytes.Buffer
	if err := errors.Join(faulty().Text(&plain, TextOptions{}), faulty().Text(&colour, TextOptions{Color: true})); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Error("an escape sequence without colour")
	}
	parts := strings.Split(colour.String(), "\x1b[")
	for i := range parts[1:] {
		_, parts[i+1], _ = strings.Cut(parts[i+1], "m")
	}
	if d := cmp.Diff(plain.String(), strings.Join(parts, "")); d != "" {
		t.Errorf("(-plain +colour):\n%s", d)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestWriteError(t *testing.T) {
	for _, err := range []error{faulty().Text(full{}, TextOptions{}), faulty().JSON(full{})} {
		if !errors.Is(err, io.ErrShortWrite) {
			t.Error(err)
		}
	}
}

// TestFoldString: characters up to a zero are a string, if they are all of one array and
// begin it.
func TestFoldString(t *testing.T) {
	char := func(array string, from int, text string) []Field {
		var out []Field
		for i, c := range []byte(text) {
			value := fmt.Sprintf("%d '%c'", c, c)
			if c == 0 {
				value = "0"
			}
			out = append(out, Field{fmt.Sprintf("%s[%d]", array, from+i), value})
		}
		return out
	}
	for _, c := range []struct {
		fields []Field
		want   string
	}{
		{append(char("name", 0, "task 1\x00"), Field{"name[7]", "never written"}, Field{"n", "3"}), `name "task 1"; n 3`},
		{append(char("name", 0, "ab\x00left"), char("to", 0, "c\x00")...), `name "ab"; to "c"`},
		{char("name", 0, "ab"), "name[0] 97 'a'; name[1] 98 'b'"},
		{char("name", 1, "ab\x00"), "name[1] 97 'a'; name[2] 98 'b'; name[3] 0"},
		{append(char("a", 0, "xy"), char("b", 0, "z\x00")...), `a[0] 120 'x'; a[1] 121 'y'; b "z"`},
		{[]Field{{"n[0]", "97"}, {"n[1]", "0"}}, "n[0] 97; n[1] 0"},
	} {
		var got []string
		for _, f := range Fold(c.fields) {
			got = append(got, f.Name+" "+f.Value)
		}
		if s := strings.Join(got, "; "); s != c.want {
			t.Errorf("%s, want %s", s, c.want)
		}
	}
}

// TestShorten: of an array the first elements are printed before what lies behind it, all of one that is short, or the last thing in its node.
func TestShorten(t *testing.T) {
	fields := func(array string, n int) (out []Field) {
		for i := range n {
			out = append(out, Field{fmt.Sprintf("%s[%d]", array, i), fmt.Sprint(i)})
		}
		return out
	}
	next := []Field{{"next", "node#2"}}
	long := append(append(fields("key", 8), Field{"key[8..19]", "…"}), next...)
	ranged := append(fields("key", 9), append([]Field{{"key[9..11]", "0"}, {"key[12]", "7"}}, next...)...)
	for _, c := range []struct{ in, want []Field }{
		{append(fields("key", 20), next...), long},
		{append(fields("key", 9), next...), append(fields("key", 9), next...)},
		{ranged, append(append(fields("key", 8), Field{"key[8..12]", "…"}), next...)},
		{fields("key", 20), fields("key", 20)},
		{next, next},
	} {
		if got := shorten(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%v\nwant %v", got, c.want)
		}
	}
}

// TestStopped: what the instruction was given that could not be executed; nothing of one that only ended the program.
func TestStopped(t *testing.T) {
	e := Exit{Signal: "SIGSEGV", Instruction: "mov [rax], rdx", Registers: []Register{
		{Name: "rax", Value: "0x0", Read: true}, {Name: "rdx", Value: "0x5508", Leads: "node#3+8", Read: true}, {Name: "rcx", Value: "0x1"},
	}}
	if got, want := e.Stopped(), "the program could not execute mov [rax], rdx, with rax 0x0, rdx leading to node#3+8"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	e.Registers = nil
	if got, want := e.Stopped(), "the program could not execute mov [rax], rdx"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, e := range []Exit{{Signal: "SIGABRT", Instruction: "ret"}, {Signal: "SIGTERM", Instruction: "syscall"}, {Signal: "SIGSEGV"}} {
		if got := e.Stopped(); got != "" {
			t.Errorf("%s: %q", e.Signal, got)
		}
	}
}
