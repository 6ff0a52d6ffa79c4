package graphviz

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestDraw(t *testing.T) {
	for format, want := range map[Format]string{SVG: "<svg", JSON: `"pos"`} {
		out, err := Draw(t.Context(), []byte(`digraph { a -> b }`), format)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("%s: no %s in %s", format, want, out)
		}
	}
}

// What is no graph is an error that says why, and the next graph is drawn all the same.
func TestErrors(t *testing.T) {
	_, err := Draw(t.Context(), []byte(`digraph { a -> `), SVG)
	if err == nil || !strings.Contains(err.Error(), "syntax error") {
		t.Errorf("half a graph: %v", err)
	}
	if _, err := Draw(t.Context(), []byte(`digraph { a }`), "none"); err == nil {
		t.Error("there is no format none, and no error")
	}
	if _, err := Draw(t.Context(), []byte(`digraph { a }`), SVG); err != nil {
		t.Error(err)
	}
}

func TestConcurrent(t *testing.T) {
	want, err := Draw(t.Context(), []byte(`digraph { a -> b -> c -> a }`), SVG)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			got, err := Draw(context.Background(), []byte(`digraph { a -> b -> c -> a }`), SVG)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
	all.Wait()
}

// graphviz.wasm is what the version in go.mod has.
func TestUpstream(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	var errs bytes.Buffer
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/goccy/go-graphviz")
	list.Stderr = &errs
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	dir := strings.TrimSpace(string(out))
	if dir == "" {
		t.Skip("github.com/goccy/go-graphviz is not downloaded: go mod download github.com/goccy/go-graphviz")
	}
	theirs, err := os.ReadFile(filepath.Join(dir, "internal/wasm/graphviz.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(theirs, module) {
		t.Error("graphviz.wasm is not that of the version in go.mod: run go generate ./render/graphviz")
	}
}
