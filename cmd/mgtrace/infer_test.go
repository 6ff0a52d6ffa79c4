package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"mgtrace/trace"
)

// life is a block of the program from its birth to its death.
type life struct {
	start trace.Addr
	size  uint64
	died  bool
}

// lives are the blocks of a trace, and what its stores left in memory. With calls they are
// the blocks that the program's own take returned, and its give was given back.
func lives(t *testing.T, file string, calls bool) (out []life, words map[trace.Addr]uint64) {
	t.Helper()
	live := map[trace.Addr]int{}
	words = map[trace.Addr]uint64{}
	born := func(a trace.Addr, size uint64) {
		live[a] = len(out)
		out = append(out, life{start: a, size: size})
		for w := a; w < a+trace.Addr(size); w += 8 {
			delete(words, w)
		}
	}
	died := func(a trace.Addr) {
		if i, ok := live[a]; ok {
			out[i].died = true
			delete(live, a)
		}
	}
	r, err := trace.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	funcs := r.Program().Funcs
	var asked []uint64
	for ev := (trace.Event{}); ; {
		err := r.Next(&ev)
		if errors.Is(err, io.EOF) {
			return out, words
		}
		if err != nil {
			t.Fatal(err)
		}
		switch ev.Kind {
		case trace.KindAlloc:
			if !calls {
				born(ev.Addr, ev.Size)
			}
		case trace.KindFree:
			died(ev.Addr)
		case trace.KindRealloc:
			died(trace.Addr(ev.Aux))
			born(ev.Addr, ev.Size)
		case trace.KindCall:
			switch name := funcs[ev.Aux-1].Name; {
			case calls && name == "take":
				asked = append(asked, ev.Args[0])
			case calls && name == "give":
				died(trace.Addr(ev.Args[0]))
			}
		case trace.KindReturn:
			if calls && funcs[ev.Aux-1].Name == "take" {
				born(trace.Addr(ev.Ret), asked[len(asked)-1])
				asked = asked[:len(asked)-1]
			}
		case trace.KindStore:
			for i := 0; i+8 <= len(ev.Data); i += 8 {
				words[ev.Addr+trace.Addr(i)] = binary.LittleEndian.Uint64(ev.Data[i:])
			}
		}
	}
}

// inferred compares the blocks that are found without knowing the allocator with those
// that it gave out.
type inferred struct {
	lives, places int // blocks that were given out, and at how many addresses
	start, exact  int // addresses at which a block was found, and with its size
	told          int // blocks that were told apart from those before at their address
	falseNodes    int // that begin where no block was
	edges, found  int // pointers between blocks at the end, and those of them that were found
}

// recordAll records a program with all its instructions, with variables added to its environment;
// own: one with an allocator of its own.
func recordAll(t *testing.T, env []string, bin string, own bool, flags ...string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "t.mgt")
	args := []string{"record", "--full", "-o", file, bin}
	if own {
		args = append(args, "--cpoint", "take", "--cpoint", "give")
	}
	if r := execute(t, "", env, "", append(args, flags...)...); r.status != 0 {
		t.Fatal(r.stderr)
	}
	return file
}

// infer has the blocks of a recording found.
func infer(t *testing.T, env []string, file string, own bool, flags ...string) inferred {
	t.Helper()
	truth, words := lives(t, file, own)
	r := execute(t, "", env, "", append([]string{"snapshot", file, "--alloc-free", "--json", "--max", "0"}, flags...)...)
	if r.status != 0 {
		t.Fatal(r.stderr)
	}
	got, _ := lives(t, file+".nodes", false)
	sizes, count := map[trace.Addr]uint64{}, map[trace.Addr]int{}
	for _, b := range got {
		sizes[b.start] = max(sizes[b.start], b.size)
		count[b.start]++
	}
	out := inferred{lives: len(truth)}
	places := map[trace.Addr]uint64{}
	for _, b := range truth {
		if count[b.start] > 0 {
			count[b.start]--
			out.told++
		}
		places[b.start] = max(places[b.start], b.size)
	}
	for a, size := range places {
		out.places++
		if have, ok := sizes[a]; ok {
			out.start++
			if have == size {
				out.exact++
			}
		}
	}
	for a := range sizes {
		if _, ok := places[a]; !ok {
			out.falseNodes++
		}
	}
	found := edges(t, r.stdout)
	for _, b := range truth {
		for off := trace.Addr(0); off+8 <= trace.Addr(b.size) && !b.died; off += 8 {
			to := trace.Addr(words[b.start+off])
			if !slices.ContainsFunc(truth, func(x life) bool { return x.start == to && !x.died }) {
				continue
			}
			out.edges++
			if e := [2]trace.Addr{b.start, to}; found[e] > 0 {
				found[e]--
				out.found++
			}
		}
	}
	t.Logf("%+v", out)
	return out
}

// edges counts the pointers of a snapshot, from block to block by their addresses.
func edges(t *testing.T, snapshot string) map[[2]trace.Addr]int {
	t.Helper()
	var s struct {
		Nodes []struct {
			Node, Address string
			Fields        []struct{ To string }
		}
	}
	if err := json.Unmarshal([]byte(snapshot), &s); err != nil {
		t.Fatal(err)
	}
	at := map[string]trace.Addr{}
	for _, n := range s.Nodes {
		a, err := strconv.ParseUint(n.Address, 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		at[n.Node] = trace.Addr(a)
	}
	out := map[[2]trace.Addr]int{}
	for _, n := range s.Nodes {
		for _, f := range n.Fields {
			if f.To != "" {
				out[[2]trace.Addr{at[n.Node], at[f.To]}]++
			}
		}
	}
	return out
}

// built compiles a program of testdata/infer.
func built(t *testing.T, source string, flags ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "prog")
	if out, err := exec.Command("gcc", append(flags, "-g", "-o", bin, "../../testdata/infer/"+source)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return bin
}

// TestInferLibrary: of a program that frees nothing, and writes every field, each block
// is found with its exact start and size, whichever allocator gave it out.
func TestInferLibrary(t *testing.T) {
	t.Parallel()
	needCapture(t)
	for _, opt := range []string{"-O0", "-O2"} {
		bin := built(t, "built.c", opt)
		for _, name := range append([]string{"glibc"}, preloaded...) {
			t.Run(name+opt, func(t *testing.T) {
				t.Parallel()
				var env []string
				if name != "glibc" {
					paths, err := filepath.Glob("/usr/lib/*/" + name)
					if err != nil || len(paths) == 0 {
						t.Skipf("%s is not installed", name)
					}
					env = []string{"LD_PRELOAD=" + paths[0]}
				}
				got := infer(t, env, recordAll(t, env, bin, false), false)
				// Blocks that a library has for itself are not the program's.
				if got.start != 61 || got.exact != 61 || got.falseNodes != 0 || got.found != 88 {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

// TestInferOwn: so are the blocks of a program that manages memory itself. Where its
// functions are named, each life of a block is told, too.
func TestInferOwn(t *testing.T) {
	t.Parallel()
	needCapture(t)
	for _, how := range []string{"HEAP", "POOL", "SLAB", "ARENA", "POOL -DSTATIC"} {
		for _, opt := range []string{"-O0", "-O2"} {
			t.Run(how+" "+opt, func(t *testing.T) {
				t.Parallel()
				flags := []string{opt, "-DHOW=" + how[:4]}
				var heap, global []string
				switch how {
				case "ARENA":
					flags[1] = "-DHOW=ARENA"
				case "POOL -DSTATIC":
					flags = append(flags, "-DSTATIC")
					heap, global = []string{"--heap", "memory"}, []string{"--global", "memory"}
				}
				file := recordAll(t, nil, built(t, "own.c", flags...), true, global...)
				got := infer(t, nil, file, true, heap...)
				whole := got.exact == got.places && got.falseNodes <= 2 && got.found == got.edges
				if how == "HEAP" { // headers are nodes of their own; optimised code joins them with what is behind
					whole = opt != "-O0" || got.exact == got.places && got.found == got.edges
				}
				if got.start != got.places || got.edges == 0 || !whole {
					t.Errorf("unnamed: %+v", got)
				}
				got = infer(t, nil, file, true, append(heap, "--allocator", "take", "--allocator", "give(1)")...)
				if got.exact != got.places || got.told != got.lives || got.falseNodes != 0 || got.found != got.edges {
					t.Errorf("named: %+v", got)
				}
			})
		}
	}
}
