package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"mgtrace/report/page/browsertest"
)

// nasty is what a source file may be called, and what may stand in it.
const nasty = `a'b"<i>é😀&amp;.c`

// TestForms: the quad tree's fault as a page in a browser and as SARIF, from a
// source file whose name and text would do harm if they were not escaped.
func TestForms(t *testing.T) {
	t.Parallel()
	src, err := os.ReadFile("../../testdata/programs/quadtree.c")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, bin := filepath.Join(dir, nasty), filepath.Join(dir, "quadtree")
	text := strings.Replace(string(src), "/* FAULT */", "/* </script><script>document.title='owned'</script> */", 1)
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-g", "-O0", "-DFAULT", "-o", bin, source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	html, sarif := filepath.Join(dir, "r.html"), filepath.Join(dir, "r.sarif")
	r := mgtrace(t, "../../testdata/programs/quadtree.in", "run", "--html", html, "--sarif", sarif, bin, "--spec", "../../testdata/programs/quadtree.cons")
	if r.status != 1 || len(r.report.CPoints) != 1 || len(r.report.CPoints[0].Suspects) == 0 {
		t.Fatalf("status %d, %+v\n%s", r.status, r.report.CPoints, r.stderr)
	}
	c := &r.report.CPoints[0]
	s := &c.Suspects[0]
	step := -1
	for i := range c.Steps {
		if c.Steps[i].Suspect == 1 {
			step = i
		}
	}
	if s.Source == "" || s.Why == "" || s.Column == 0 || step < 1 || len(c.Steps[step-1].Broken) != 0 || len(c.Steps[step].Broken) != 1 {
		t.Errorf("suspect %+v, its step %d of %+v", s, step, c.Steps)
	}
	t.Run("sarif", func(t *testing.T) { validSARIF(t, sarif) })
	t.Run("html", func(t *testing.T) {
		p := browsertest.Open(t, html)
		at := func(when, js, want string) {
			t.Helper()
			if got := browsertest.Eval[string](p, js); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		const line, change, child = `document.querySelector(".lines .at").textContent.slice(2).trim()`, `document.querySelector(".caption .change").textContent`,
			`[...document.querySelectorAll(".stage .box")].find((b) => b.querySelector(".name").textContent === "qdtree#1").querySelector(".is-c .value").textContent`
		at("the suspect's line", line, s.Source)
		at("its change", change, s.Change)
		at("the cell that it changed", child, "NULL")
		at("what broke", `document.querySelector(".state").textContent`, "broken here: c3")
		ghosts := `String(document.querySelectorAll(".stage .edge.is-g").length)`
		at("the edge that it removed", ghosts, "1")
		p.Press(kb.ArrowLeft)
		at("the step before", `document.querySelector(".state").textContent`, "no finding is broken here")
		at("its change", change, c.Steps[step-1].Change)
		at("its line", line, c.Steps[step-1].Source)
		at("no edge is gone", ghosts, "0")
		p.Press(kb.Home)
		at("the first step", `document.querySelector(".title").textContent`, "all is well at "+nasty+":77") // the mark in the source
		at("the title", `document.title`, "quadtree: "+r.report.Headline())
	})
}

// validSARIF checks a file against the standard's schema.
func validSARIF(t *testing.T, file string) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../report/sarif/testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
}

// TestSteps: what led to a C-point. The end of the program is the only C-point of
// the leftist heap, so not every change can be listed; those of suspects are. A
// memory fault tells of its block.
func TestSteps(t *testing.T) {
	t.Parallel()
	find := func(name string) result {
		for _, p := range programs(t) {
			if p.name() == name {
				return p.run(t, "inline", p.compile(t, "-O0", "-DFAULT"))
			}
		}
		t.Fatalf("there is no %s", name)
		return result{}
	}
	t.Run("bounded", func(t *testing.T) {
		r := find("leftist-heap")
		c := &r.report.CPoints[0]
		left, at := 0, map[uint64]int{}
		for i, s := range c.Steps {
			left += s.LeftOut
			at[s.Timestamp] = s.Suspect
			if i > 0 && s.Timestamp < c.Steps[i-1].Timestamp {
				t.Errorf("step %d is of change %d, after %d", i, s.Timestamp, c.Steps[i-1].Timestamp)
			}
		}
		if len(c.Steps) != 122 || left == 0 || uint64(left)+120 > r.report.Events.Changes {
			t.Errorf("%d steps, %d left out, of %d changes", len(c.Steps), left, r.report.Events.Changes)
		}
		for _, s := range c.Suspects {
			if s.Kind == "wrote" && at[s.Timestamp] != s.Rank {
				t.Errorf("suspect %d's change %d is no step of its", s.Rank, s.Timestamp)
			}
		}
		if last := c.Steps[len(c.Steps)-1]; len(last.Broken) != len(c.Inconsistencies) {
			t.Errorf("at the C-point %v are broken of %d", last.Broken, len(c.Inconsistencies))
		}
	})
	t.Run("memory fault", func(t *testing.T) {
		r := find("use-after-free")
		var got []string
		for _, s := range r.report.CPoints[0].Steps {
			got = append(got, s.Place+s.Source)
		}
		want := []string{"before the block was allocated", "struct session *s = malloc(sizeof *s);", "free(s);", "s->sent += bytes; /* FAULT */"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}
