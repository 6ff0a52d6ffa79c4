package sarif

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mgtrace/report"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// compile compiles the standard's own schema.
func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	f, err := os.Open("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat() // uri and uri-reference among them
	if err := c.AddResource(schema, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func write(t *testing.T, r *report.Report) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, r, Options{Version: "v1.2", Root: "/home/me/my project"}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// quad is a report with all that a result can have.
func quad() *report.Report {
	status := 0
	return &report.Report{
		Program: "/bin/quad", Complete: false, Why: []string{"3 events were lost"}, Events: report.Events{Dropped: 3}, Exit: &report.Exit{Status: &status},
		Begins: &report.Begins{Why: "only the newest part was kept"}, Audit: &report.Audit{Unseen: 1}, Warnings: []string{"type pt was never allocated"},
		CPoints: []report.CPoint{{
			Kind: "return", Function: "insert", File: "quad.c", Path: "/home/me/my project/src/quad.c", Line: 62, Call: 5, Timestamp: 12,
			Inconsistencies: []report.Inconsistency{
				{Constraint: "c3", Source: "qdtree X; X -> Y => X.OUTDEGREE == 4;", Reason: "X.OUTDEGREE is 3", Total: 3},
				{Constraint: "c1", Reason: "X is shared", Total: 1},
			},
			Suspects: []report.Suspect{
				{
					Rank: 1, File: "quad.c", Path: "/home/me/my project/src/quad.c", Line: 35, Column: 9, Function: "split", Source: "é->child[0] = NULL;", Why: "Without this change, all would be well.",
					Change: "qdtree#1.child[0]: qdtree#2 → NULL", Contributes: []string{"c9", "c1"}, Evidence: []string{"it flipped"}, Kind: "wrote", Thread: 7, Timestamp: 11,
					Context: []report.Line{{Line: 34, Text: "\tif (x)"}, {Line: 35, Text: "\t\té->child[0] = NULL;"}}, Inlined: []report.Place{{File: "quad.c", Line: 80, Function: "insert"}},
				},
				{Rank: 2, File: "z.h", Path: "/usr/include/ü z.h", Line: 3, Function: "link", Source: "q->prev = n;", Kind: "omitted", Why: "It should have set q.prev here.", Change: "missing: q.prev"},
				{Rank: 3, Address: "0x401136", Kind: "wrote", Why: "It changed what c3 depends on."},
			},
			Steps: []report.Step{
				{Timestamp: 8, Place: "all is well", Broken: []int{}},
				{Timestamp: 9, File: "quad.c", Path: "/home/me/my project/src/quad.c", Line: 30, Function: "split", Change: "a", When: "change 9", Thread: 8, LeftOut: 2},
				{Timestamp: 11, File: "quad.c", Path: "/home/me/my project/src/quad.c", Line: 35, Function: "split", Change: "b", When: "change 11", Thread: 7, Suspect: 1},
				{Timestamp: 12, Place: "found", Path: "/home/me/my project/src/quad.c", Line: 62},
			},
		}},
	}
}

func TestGolden(t *testing.T) {
	got := write(t, quad())
	const golden = "testdata/quad.sarif"
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestSchema: whatever a report holds, the form is valid against the standard's
// schema.
func TestSchema(t *testing.T) {
	s := compile(t)
	for name, r := range map[string]*report.Report{
		"quad":    quad(),
		"empty":   {},
		"healthy": {Complete: true, Checked: report.Checked{CPoints: 3}},
		"crash":   {Complete: true, Exit: &report.Exit{Signal: "SIGSEGV"}},
		"core":    {CPoints: []report.CPoint{{Kind: "crash", Core: true, Inconsistencies: []report.Inconsistency{{Constraint: "c1", Reason: "a"}, {Constraint: "c1", Reason: ""}}}}},
		"nothing known": {CPoints: []report.CPoint{{
			Suspects: []report.Suspect{{}}, Steps: []report.Step{{}, {}},
		}}},
		"hostile": {CPoints: []report.CPoint{{
			Path: "a\n%zz ?#[]:\\\"", Line: 1, Function: "\x00\xff", Inconsistencies: []report.Inconsistency{{Constraint: "<c>\"", Reason: "\xff"}},
			Suspects: []report.Suspect{{Path: "/a b/ü#?%.c", Line: 2, Column: 999, Context: []report.Line{{Line: 2, Text: "\xff\xfe"}}}},
		}}},
	} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(write(t, r)))
		if err == nil {
			err = s.Validate(doc)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Each result's rule is in the list.
	for _, r := range []*report.Report{quad(), {CPoints: []report.CPoint{{Suspects: []report.Suspect{{}}}}}} {
		var l log
		if err := json.Unmarshal(write(t, r), &l); err != nil {
			t.Fatal(err)
		}
		for _, res := range l.Runs[0].Results {
			if rules := l.Runs[0].Tool.Driver.Rules; res.RuleIndex >= len(rules) || rules[res.RuleIndex].ID != res.RuleID {
				t.Errorf("rule %d is not %s", res.RuleIndex, res.RuleID)
			}
		}
	}
	// The schema is not one that takes anything.
	doc, _ := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(`{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}`)))
	if s.Validate(doc) == nil {
		t.Error("a tool without a name is valid")
	}
}

// TestPaths: as net/url reads them, they are what they were.
func TestPaths(t *testing.T) {
	b := builder{o: Options{Root: "/r"}}
	for _, path := range []string{"/r/a.c", "/r/a b/é\n%zz?#[].c", "/r/x:y.c", "/else/where.c", "/rr/a.c", "a:b/../c.c", "/r/\xff"} {
		a := b.artifact(path)
		u, err := url.Parse(a.URI)
		if err != nil {
			t.Errorf("%q: %v", path, err)
			continue
		}
		got := u.Path
		if a.Base != "" {
			got = "/r/" + strings.TrimPrefix(got, "./")
		}
		if strings.TrimPrefix(got, "./") != path || u.RawQuery != "" || u.Fragment != "" || u.IsAbs() != (strings.HasPrefix(path, "/") && a.Base == "") {
			t.Errorf("%q is %q of %q: %q", path, a.URI, a.Base, got)
		}
		if want := strings.HasPrefix(path, "/r/"); (a.Base != "") != want {
			t.Errorf("%q is relative to %q", path, a.Base)
		}
	}
}

// TestFingerprint: it stays where lines move and nodes get other numbers, and
// tells suspects apart.
func TestFingerprint(t *testing.T) {
	prints := func(r *report.Report) (out []string) {
		var l log
		if err := json.Unmarshal(write(t, r), &l); err != nil {
			t.Fatal(err)
		}
		for _, res := range l.Runs[0].Results {
			out = append(out, res.Fingerprints["mgtrace/v1"])
		}
		return out
	}
	moved := quad()
	s := &moved.CPoints[0].Suspects[0]
	s.Line, s.Change, s.Timestamp = 99, "qdtree#7.child[0]: qdtree#8 → NULL", 2000
	if d := cmp.Diff(prints(quad()), prints(moved)); d != "" {
		t.Errorf("moved (-before +after):\n%s", d)
	}
	if p := prints(quad()); p[0] == p[1] || p[1] == p[2] {
		t.Errorf("suspects that look alike: %q", p)
	}
}
