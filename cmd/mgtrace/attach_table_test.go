package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
)

const tableSpec = "testdata/table.cons"

func buildTable(t *testing.T) string {
	t.Helper()
	bin, err := builds.compile("gcc", "testdata/table.c", "table", []string{"-g", "-O1"})
	if err != nil {
		t.Skip(err)
	}
	return bin
}

// TestAttachTable: a table of chains that was there before is whole, though malloc tells its size
// only roughly; what breaks it while mgtrace is attached is found.
func TestAttachTable(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, engine string) {
		for _, how := range []string{"healthy", "broken"} {
			table := start(t, buildTable(t), []string{how}[:strings.Count(how, "broken")]...)
			table.says(t, "ready")
			a := attach(t, table, "--engine", engine, "--spec", tableSpec)
			a.recording(t)
			table.goesOn(t)
			if err := table.Process.Signal(syscall.SIGUSR1); err != nil {
				t.Fatal(err)
			}
			table.goesOn(t)
			r := a.ends(t, syscall.SIGINT)
			if n := r.report.Checked.Objects["slots"]; n != 2 {
				t.Errorf("%s: %d slots, want 2", how, n)
			}
			if how == "healthy" {
				if r.status != 0 || len(r.report.CPoints) > 0 || r.report.Checked.CPoints == 0 {
					t.Errorf("status %d, %d C-points, found %+v\n%s", r.status, r.report.Checked.CPoints, r.report.CPoints, r.stderr)
				}
				table.finishes(t)
				continue
			}
			if got, want := suspects(&r.report), bugLine(t, "testdata/table.c"); r.status != 1 || !slices.Contains(got, want) {
				t.Errorf("status %d, suspects in lines %v, want %d\n%s", r.status, got, want, r.stderr)
			}
		}
	})
}
