package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mgtrace/session/contents"
	"mgtrace/trace"
)

// TestUnlistedBlocks: of the blocks that were there when the history begins some are
// not told. A pointer to one of those leads nowhere, and nothing is wrong with it.
func TestUnlistedBlocks(t *testing.T) {
	capable(t)
	source, err := os.ReadFile("../cmd/mgtrace/testdata/churn.c")
	if err != nil {
		t.Fatal(err)
	}
	bin, dir := compile(t, string(source)), t.TempDir()
	whole, part := filepath.Join(dir, "whole.mgt"), filepath.Join(dir, "part.mgt")
	ao := AnalysisOptions{Spec: "../cmd/mgtrace/testdata/churn.cons"}
	for _, c := range []struct {
		bad   string
		found bool
	}{{"0", false}, {"2990", true}} {
		output := quiet(t)
		_, err := Record(context.Background(), RunOptions{Program: bin, Args: []string{"3000", c.bad}, Analysis: ao, Record: whole})
		if output(); err != nil {
			t.Fatal(err)
		}
		left := beginLater(t, whole, part, 20000)
		r, err := Locate(context.Background(), part, ao)
		if err != nil {
			t.Fatal(err)
		}
		if r.Found() != c.found || r.Begins == nil || r.Begins.Event != 20000 {
			t.Errorf("node %s is wrong: %+v", c.bad, r)
		}
		if c.found && (len(r.CPoints[0].Suspects) == 0 || !strings.Contains(r.CPoints[0].Suspects[0].Source, "FAULT")) {
			t.Errorf("suspects: %+v", r.CPoints[0].Suspects)
		}
		if want := fmt.Sprintf("%d blocks that were there", left); left < 10 || !strings.Contains(strings.Join(r.Warnings, ";"), want) {
			t.Errorf("warnings: %q", r.Warnings)
		}
	}
}

// beginLater makes a trace that begins after so many events of another, and tells
// only every other block that is there.
func beginLater(t *testing.T, from, to string, after int) (left uint64) {
	t.Helper()
	r, err := trace.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	prog := r.Program()
	for i := range prog.Modules {
		prog.Modules[i].File, prog.Modules[i].Debug = "", ""
	}
	w := trace.NewWriter(f, prog)
	table := contents.NewBlocks(&prog)
	var ev trace.Event
	for i := 0; ; i++ {
		if i == after {
			n := 0
			table.EachBlock(func(ev *trace.Event) bool {
				if n++; n%2 == 0 {
					left++
					return true
				}
				return w.Write(ev) == nil
			})
			err = w.Write(&trace.Event{Kind: trace.KindBegin, Size: uint64(after), Aux: left, Wall: -1})
		}
		if next := r.Next(&ev); next != nil {
			break
		}
		if i < after {
			table.Event(&ev)
		} else if err == nil {
			err = w.Write(&ev)
		}
	}
	trailer, ok := r.Trailer()
	if err = errors.Join(err, w.Finish(trailer), f.Close()); err != nil || !ok {
		t.Fatal(err)
	}
	return left
}
