package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCutSummary(t *testing.T) {
	for _, tt := range []struct {
		name, printed, rest string
		stores              int64
	}{
		{"nothing", "", "", 0},
		{"no summary", "{x}\nab\n", "{x}\nab\n", 0},
		{"behind output", "{x}\nab\n{\"stores\": 12}\n", "{x}\nab\n", 12},
		{"of info", "{\n \"events\": {\n\"store\": 7, \"call\": 1}\n}\n", "", 7},
		{"output that looks like one in a line", "a {\"stores\": 12}\n", "a {\"stores\": 12}\n", 0},
		{"behind long output", strings.Repeat("{\n", 1<<17) + "{\"stores\":1}", strings.Repeat("{\n", 1<<17), 1},
	} {
		rest, n := cutSummary([]byte(tt.printed))
		if string(rest) != tt.rest || n != tt.stores {
			t.Errorf("%s: rest of %d bytes, %d stores; want %d, %d", tt.name, len(rest), n, len(tt.rest), tt.stores)
		}
	}
}

// TestCell: what a run that fails, differs or is stopped makes of its cell.
func TestCell(t *testing.T) {
	native := outcome{seconds: 2, cpu: 1, output: [32]byte{1}}
	other := outcome{seconds: 3}
	for _, tt := range []struct {
		name string
		runs []outcome
		want string
		cpu  float64
	}{
		{"median", []outcome{{seconds: 8, cpu: 9, output: native.output}, {seconds: 2, cpu: 2, output: native.output}, {seconds: 3, cpu: 4, output: native.output}}, "1.50×", 4},
		{"stopped", []outcome{{seconds: 3, cpu: 2, output: native.output}, {seconds: 80, err: errLimit}}, "> 40×", 0},
		{"failed", []outcome{{seconds: 3, output: native.output}, {seconds: 1, err: errors.New("no")}}, "n/a", 0},
		{"wrong output", []outcome{other}, "n/a", 0},
	} {
		c := &cell{}
		for _, o := range tt.runs {
			c.add(o, native)
		}
		r := row{Native: []float64{2}, Cells: map[string]*cell{"everything": c}}
		r.finish()
		if got := c.String(); got != tt.want {
			t.Errorf("%s: %s, want %s (%s)", tt.name, got, tt.want, c.Reason)
		}
		if c.CPUMid != tt.cpu {
			t.Errorf("%s: processor time %v, want %v", tt.name, c.CPUMid, tt.cpu)
		}
	}
}

func TestMeans(t *testing.T) {
	cols := []column{{name: "a", goal: 2}, {name: "b"}}
	rows := []*row{
		{Cells: map[string]*cell{"a": {Factor: 2, CPUMid: 3}, "b": {}}},
		{Cells: map[string]*cell{"a": {Factor: 8, Over: true}, "b": {}}},
		{Program: "not made"},
	}
	got := means(cols, rows)["a"]
	if got.String() != "> 4.00× (2)" {
		t.Errorf("mean: %s", got)
	}
	if diff := cmp.Diff(mean{Factor: got.Factor, Programs: 2, Over: 1, CPU: got.CPU, Goal: 2}, got); diff != "" {
		t.Error(diff)
	}
	if s := times(got.CPU); s != "3.00×" {
		t.Errorf("mean of processor time: %s", s)
	}
	if _, ok := means(cols, rows)["b"]; ok {
		t.Error("a mean of nothing")
	}
}

// TestPrograms: the same seed makes the same work.
func TestPrograms(t *testing.T) {
	if a, b := prose(10, 5), prose(10, 5); a != b || strings.Count(a, "\n") != 2 {
		t.Errorf("%q, %q", a, b)
	}
}
