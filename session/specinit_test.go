package session

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mgtrace/session/live"
)

// TestInitInterrupted: who is asked to stop before C-points are chosen says what is
// known by then; who is asked before anything was tried says that.
func TestInitInterrupted(t *testing.T) {
	capable(t)
	quiet(t)
	bin := filepath.Join(t.TempDir(), "avl")
	if out, err := exec.Command("gcc", "-g", "-o", bin, "../testdata/programs/avl.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		at   string
		want bool // facts are known
	}{{"choosing C-points", true}, {"trying laws", false}} {
		ctx, cancel := context.WithCancel(t.Context())
		r, err := InitSpec(ctx, InitOptions{Program: bin, Capture: live.CaptureOptions{Engine: "auto"}, Note: func(what string) {
			if what == c.at {
				cancel()
			}
		}})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		text := r.Text("avl")
		if !r.Partial || len(r.Facts) > 0 != c.want || len(r.CPoints) > 0 || strings.Contains(text, "X.height == X.HEIGHT") != c.want || !strings.Contains(text, "INTERRUPTED") {
			t.Errorf("interrupted when %s: partial %v, %d facts\n%s", c.at, r.Partial, len(r.Facts), text)
		}
	}
}

// TestInitKeyword: a type is named as it is declared, too.
func TestInitKeyword(t *testing.T) {
	if got, want := withoutKeywords([]string{"struct avltree", "avltree", "class geo::Tree<int>::Node", "structure"}), []string{"avltree", "avltree", "geo::Tree<int>::Node", "structure"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
