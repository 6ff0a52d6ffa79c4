package page_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"mgtrace/report"
	"mgtrace/report/page"
	"mgtrace/report/page/browsertest"
)

// hostile is a text that does harm where it is not escaped.
const hostile = `</script></style></title><script>document.body.textContent='owned'</script><img src=x onerror="document.body.textContent='owned'">"'` + "`" + `${1}{{.}}&lt;😀 e` + "\u0301\u202e\u2028"

// told is a report of three steps with a film; name is put wherever a program
// can put something.
func told(name string) *report.Report {
	long := strings.Repeat("long ", 40)
	return &report.Report{
		Program: "/bin/" + name, Engine: "inline", Complete: false, Why: []string{"3 events were lost " + name},
		Checked: report.Checked{CPoints: 2, Spec: name + ".cons"}, Warnings: []string{"warned " + name},
		CPoints: []report.CPoint{{
			Kind: "return", Function: name, File: name, Path: "/src/" + name, Line: 9, Timestamp: 12, Call: 2,
			Inconsistencies: []report.Inconsistency{
				{Constraint: name, Source: name, Reason: name + long, Total: 1, Values: []report.NodeValues{{Node: name, Addr: "0x10", Fields: []report.Field{{Name: name, Value: name}}}}},
				{Constraint: "second", Reason: "another", Total: 4},
			},
			Suspects: []report.Suspect{
				{Rank: 1, File: name, Path: "/src/" + name, Line: 3, Column: 2, Function: name, Source: name, Why: "Because " + name, Change: name + ": 1 → 2", When: "change 11", Kind: "wrote", Timestamp: 11,
					Evidence: []string{"one " + name, "two"}, Context: []report.Line{{Line: 2, Text: "\t{"}, {Line: 3, Text: "\t\t" + name}, {Line: 4, Text: "\t}"}}},
				{Rank: 2, File: "other.c", Path: "/src/other.c", Line: 40, Function: "g", Source: "x = y;", Why: "It is missing.", Change: "missing: x", Kind: "omitted"},
			},
			Steps: []report.Step{
				{Timestamp: 10, Place: "all is well " + name, Broken: []int{}},
				{Timestamp: 11, File: name, Path: "/src/" + name, Line: 3, Function: name, When: "change 11", Change: name + ": 1 → 2", Suspect: 1, Broken: []int{0}, LeftOut: 4},
				{Timestamp: 12, Place: "found " + name, Path: "/src/" + name, Line: 9, Broken: []int{0, 1}},
			},
			Film: &report.Film{
				Drawing: drawing("p0-"), First: drawing("first-"), Last: drawing("last-"), Room: 10, Drawn: 2, Objects: 1004,
				Frames: []report.Frame{
					{Nodes: "p.", Edges: ".", Values: []report.CellText{{Cell: 0, Text: "1"}}},
					{Nodes: "bn", Edges: "n", Values: []report.CellText{{Cell: 0, Text: name + long}}, Marks: []report.CellText{{Cell: 0, Text: "c"}}},
					{Nodes: "bp", Edges: "r", Values: []report.CellText{{Cell: 0, Text: "3"}}, Marks: []report.CellText{{Cell: 0, Text: "b"}}},
				},
			},
		}},
		Sources: []report.SourceFile{
			{Path: "/src/" + name, Parts: []report.SourcePart{{First: 1, Lines: []string{"a", "b", name, "d", "e", "f", "g", "h", "i"}}}},
			{Path: "/src/other.c", Parts: []report.SourcePart{{First: 1, Lines: []string{"one"}}, {First: 39, Lines: []string{"thirty-nine", "forty"}}}},
		},
	}
}

// drawing is a picture as package render makes it: two boxes, a cell, an edge.
func drawing(prefix string) string {
	return strings.ReplaceAll(`<svg class="film" viewBox="0 0 200 100" width="200" height="100" role="img">`+
		`<g class="box" id="@n0"><title>a</title><rect class="frame" x="10" y="10" width="60" height="40"/><g class="cell" id="@c0"><title>a.x</title><rect class="under" x="10" y="30" width="60" height="16"/><text class="key" x="12" y="42">x</text><text class="value" x="30" y="42"></text></g></g>`+
		`<g class="box" id="@n1"><title>b</title><rect class="frame" x="110" y="10" width="60" height="40"/></g>`+
		`<g class="edge" id="@e0"><path class="line" d="M70 30L110 30"/></g></svg>`, "@", prefix)
}

func write(t *testing.T, r *report.Report) (file, text string) {
	t.Helper()
	var b bytes.Buffer
	if err := page.Write(&b, r); err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, b.String()
}

// TestSelfContained: nothing in the page refers to anything outside it.
func TestSelfContained(t *testing.T) {
	_, text := write(t, told("quad.c"))
	for _, bad := range []string{"http://", "https://", "src=", "@import", "url(", "<link"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
}

// TestHostile: what a program calls itself and its parts changes nothing but text.
func TestHostile(t *testing.T) {
	_, plain := write(t, told("quad.c"))
	_, evil := write(t, told(hostile))
	tag := regexp.MustCompile(`<(/?[a-z0-9!]+)`)
	tags := func(s string) (out []string) {
		for _, m := range tag.FindAllStringSubmatch(s, -1) {
			out = append(out, m[1])
		}
		return out
	}
	if d := cmp.Diff(tags(plain), tags(evil)); d != "" {
		t.Errorf("tags (-plain +hostile):\n%s", d)
	}
	_, data, _ := strings.Cut(evil, `id="data">`)
	data, _, _ = strings.Cut(data, "</script>")
	var v struct {
		Points []struct{ Findings []string }
	}
	if err := json.Unmarshal([]byte(data), &v); err != nil || v.Points[0].Findings[0] != hostile {
		t.Errorf("the data: %v, %q", err, v.Points)
	}
}

// shown is what a reader sees of a step.
type shown struct {
	Title, Change, State, Value, Cell, First, Second, Edge, Source, Line string
	Step                                                                 int
}

const look = `(() => {
	const $ = (s) => document.querySelector(s), c = (s) => $(s).getAttribute("class");
	return {
		Title: $(".title").textContent, Change: $(".caption .change").textContent, State: $(".state").textContent,
		Value: $("#p0-c0 .value").textContent, Cell: c("#p0-c0"), First: c("#p0-n0"), Second: c("#p0-n1"), Edge: c("#p0-e0"),
		Source: $(".source h2").textContent, Line: $(".lines .at") ? $(".lines .at").textContent : "",
		Step: +$("input").value,
	};
})()`

func TestBrowser(t *testing.T) {
	for name, text := range map[string]string{"plain": "quad.c", "hostile": hostile} {
		t.Run(name, func(t *testing.T) {
			file, _ := write(t, told(text))
			p := browsertest.Open(t, file)
			said := strings.ReplaceAll(text, "\u202e", `\u202e`) // text that the script shows is in one order
			cut := []rune(text + strings.Repeat("long ", 40))[:9]
			first := shown{Title: "all is well " + said, State: "no finding is broken here", Value: "1", Cell: "cell", First: "box is-p", Second: "box is-off", Edge: "edge is-off", Source: "/src/" + said + ":3", Line: "3" + said}
			second := shown{
				Title: "change 11: " + said + ":3 in " + said, Change: said + ": 1 → 2", State: "broken here: " + said + " · 4 changes before it not shown",
				Value: string(cut) + "…", Cell: "cell is-c", First: "box is-b", Second: "box is-n", Edge: "edge is-n", Source: "/src/" + said + ":3", Line: "3" + said, Step: 1,
			}
			last := shown{Title: "found " + said, State: "broken here: " + said + ", second", Value: "3", Cell: "cell is-b", First: "box is-b", Second: "box is-p", Edge: "edge is-r", Source: "/src/" + said + ":9", Line: "9i", Step: 2}
			check := func(when string, want shown) {
				t.Helper()
				if d := cmp.Diff(want, browsertest.Eval[shown](p, look)); d != "" {
					t.Errorf("%s (-want +got):\n%s", when, d)
				}
			}
			check("at first, the change of the first suspect", second)
			p.Press(kb.ArrowLeft)
			check("←: nothing has been written yet, the source stays", first)
			p.Press(kb.End)
			check("End", last)
			p.Press(kb.ArrowRight)
			check("→ at the end", last)
			p.Press(kb.Home)
			stays := first // the first step is no statement: the source stays where it was
			stays.Source, stays.Line = last.Source, last.Line
			check("Home", stays)
			p.Press("1")
			check("1", second)
			p.Press("2")
			missing := last
			missing.Source, missing.Line = "/src/other.c:40", "40forty"
			check("2: a missing store has no step", missing)
			p.Click("[data-go=back]")
			check("◀", second)
			p.Click(".suspect [data-jump=before]")
			check("before", first)
			p.Click(".suspect [data-jump=after]")
			check("after", second)
			p.Press(kb.End)
			p.Click("#p0-c0 .under")
			check("a click on a value goes to the step that wrote it", last)
			browsertest.Eval[bool](p, `(() => { const i = document.querySelector("input"); i.value = 1; i.dispatchEvent(new Event("input")); return true; })()`)
			check("the slider", second)
			if got := browsertest.Eval[[]string](p, `[...document.querySelectorAll(".finding")].map((f) => f.className)`); !cmp.Equal(got, []string{"finding is-broken", "finding"}) {
				t.Errorf("findings: %q", got)
			}
			if got := browsertest.Eval[string](p, `document.title`); got != filepath.Base(text)+": "+told(text).Headline() {
				t.Errorf("title %q", got)
			}
			p.Media("screen", "dark")
			if got := browsertest.Eval[string](p, `getComputedStyle(document.body).backgroundColor`); got != "rgb(20, 23, 27)" {
				t.Errorf("dark: %s", got)
			}
		})
	}
}

// TestSlice: a click on a value of a slice goes to its definition, and one on a step of a
// way to that statement.
func TestSlice(t *testing.T) {
	r := told("quad.c")
	r.CPoints[0].Suspects[0].Slice = &report.Slice{Criterion: "suspect 1", Total: 3, Statements: []report.SliceStatement{
		{ID: 1, File: "far.c", Line: 66, Uses: []report.SliceStep{{Where: "far.c:46", How: "memory", ID: 2}}},
		{ID: 2, File: "far.c", Line: 46, How: "memory", Value: "page#1.room", Uses: []report.SliceStep{{Where: "far.c:39", How: "memory", ID: 3}}},
		{ID: 3, File: "far.c", Line: 39, How: "memory", Value: "header#1.cells", Way: []report.SliceStep{{Where: "far.c:46", How: "memory", Value: "page#1.room", ID: 2}}},
	}}
	file, _ := write(t, r)
	p := browsertest.Open(t, file)
	at := func(when, want string) {
		t.Helper()
		if got := browsertest.Eval[string](p, `document.querySelector(".slice li:target b").textContent`); got != want {
			t.Errorf("%s: at %q, want %q", when, got, want)
		}
	}
	p.Click(".slice li:nth-child(1) p:last-child a")
	at("what the first was computed from", "far.c:46")
	p.Click(".slice li:target p:last-child a")
	at("what that was computed from", "far.c:39")
	p.Click(".slice li:target .dim a:nth-of-type(2)")
	at("a step of its way", "far.c:46")
	if got, want := browsertest.Eval[string](p, `document.querySelector(".slice li:nth-child(3) p.dim").textContent`),
		"the value was read from page#1.room, written by far.c:46, which was read from header#1.cells, written by this"; got != want {
		t.Errorf("the way: %q, want %q", got, want)
	}
}

// TestPlay: the space bar plays from the beginning to the end, where it stops.
func TestPlay(t *testing.T) {
	file, _ := write(t, told("quad.c"))
	p := browsertest.Open(t, file)
	p.Press(kb.End)
	// The page notes what the button says: who looks from outside may come too late.
	browsertest.Eval[bool](p, `said = [], new MutationObserver(() => said.push(document.querySelector("[data-go=play]").getAttribute("aria-label"))).observe(
		document.querySelector("[data-go=play]"), {attributeFilter: ["aria-label"]}), true`)
	p.Press(" ")
	for browsertest.Eval[int](p, `said.length`) < 2 {
		time.Sleep(50 * time.Millisecond)
	}
	if got := browsertest.Eval[string](p, `said.join()`); got != "pause,play" {
		t.Errorf("the button says %s", got)
	}
	if got := browsertest.Eval[int](p, `+document.querySelector("input").value`); got != 2 {
		t.Errorf("it stopped at step %d", got)
	}
}

// TestWithoutScript: the first and the last frame, the steps as a list, and all
// that is said.
func TestWithoutScript(t *testing.T) {
	file, _ := write(t, told("quad.c"))
	p := browsertest.OpenWithoutScript(t, file)
	visible := browsertest.Eval[map[string]bool](p, `Object.fromEntries([".stills svg", ".steps", ".why", ".player", ".source", ".jump"].map((s) => [s, document.querySelector(s).getClientRects().length > 0]))`)
	want := map[string]bool{".stills svg": true, ".steps": true, ".why": true, ".player": false, ".source": false, ".jump": false}
	if d := cmp.Diff(want, visible); d != "" {
		t.Errorf("visible (-want +got):\n%s", d)
	}
}

// TestPrint: on paper there is no player, but the pictures.
func TestPrint(t *testing.T) {
	file, _ := write(t, told("quad.c"))
	p := browsertest.Open(t, file)
	p.Media("print", "dark")
	visible := browsertest.Eval[map[string]bool](p, `Object.fromEntries([".stills svg", ".why", ".player", ".source", ".jump"].map((s) => [s, document.querySelector(s).getClientRects().length > 0]))`)
	if d := cmp.Diff(map[string]bool{".stills svg": true, ".why": true, ".player": false, ".source": false, ".jump": false}, visible); d != "" {
		t.Errorf("visible (-want +got):\n%s", d)
	}
	if got := browsertest.Eval[string](p, `getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s", got)
	}
}

// TestNothing: a page without findings, and of a crash, has no script errors.
func TestNothing(t *testing.T) {
	zero := 0
	for name, r := range map[string]*report.Report{
		"healthy": {Program: "ls", Complete: true, Checked: report.Checked{CPoints: 3, Spec: "x.cons"}, Exit: &report.Exit{Status: &zero}},
		"partial": {Program: "ls", Why: []string{"lost"}, Checked: report.Checked{CPoints: 3, Spec: "x.cons"}},
		"crash": {
			Program: "ls", Complete: true, Exit: &report.Exit{Signal: "SIGSEGV", File: "a.c", Path: "/src/a.c", Line: 2},
			Sources: []report.SourceFile{{Path: "/src/a.c", Parts: []report.SourcePart{{First: 1, Lines: []string{"a", "b"}}}}},
		},
		"fault": {Program: "ls", CPoints: []report.CPoint{{
			Fault: "bounds", Inconsistencies: []report.Inconsistency{{Constraint: "bounds"}},
			Suspects: []report.Suspect{{Rank: 1, Address: "0x401136", Kind: "wrote"}},
			Steps:    []report.Step{{Place: "before", Broken: []int{}}, {Address: "0x401136", Suspect: 1}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			file, _ := write(t, r)
			p := browsertest.Open(t, file)
			if got := browsertest.Eval[string](p, `document.querySelector("h1 span").textContent`); got != r.Headline() {
				t.Errorf("headline %q", got)
			}
			if got, want := browsertest.Eval[string](p, `document.querySelector("h1 span").className`), map[string]string{"healthy": "good", "partial": "warn", "crash": "warn", "fault": "bad"}[name]; got != want {
				t.Errorf("the headline is %s, want %s", got, want)
			}
			if got := browsertest.Eval[string](p, `document.querySelector(".lines .at") ? document.querySelector(".lines .at").textContent : ""`); name == "crash" && got != "2b" {
				t.Errorf("source %q", got)
			}
		})
	}
}
