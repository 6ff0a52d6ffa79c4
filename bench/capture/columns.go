package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A column is one way to run a program.
type column struct {
	name   string
	always bool // in every round; else in the first only
	goal   float64
	argv   func(b *bench, c command) ([]string, error)
}

var errNoSpec = errors.New("no specification")

var columns = []column{
	{"everything", true, 2.5, func(b *bench, c command) ([]string, error) {
		return b.mgtrace(c, "record", "--engine", b.engine, "--everything", "--discard"), nil
	}},
	{"disk", true, 5, func(b *bench, c command) ([]string, error) {
		return b.mgtrace(c, "record", "--engine", b.engine, "--everything", "-o", b.trace), nil
	}},
	{"spec", true, 2, func(b *bench, c command) ([]string, error) {
		if c.spec == "" {
			return nil, errNoSpec
		}
		return b.mgtrace(c, "run", "--engine", b.engine, "--spec", c.spec), nil
	}},
	{"full", false, 100, func(b *bench, c command) ([]string, error) {
		c.modules = nil // it is all code's instructions anyway
		return b.mgtrace(c, "record", "--full", "-o", b.trace), nil
	}},
	{"none", false, 0, valgrind("--tool=none")},
	{"memcheck", false, 0, valgrind("--tool=memcheck")},
	{"lackey", false, 0, valgrind("--tool=lackey", "--trace-mem=yes")},
	{"ebpf", false, 0, func(b *bench, c command) ([]string, error) {
		return b.mgtrace(c, "record", "--engine", "ebpf", "-o", b.trace), nil
	}},
	{"rr", false, 0, other("rr", "record", "-o", "rr-trace")},
	{"dynamorio", false, 0, other("drrun", "--")},
}

// mgtrace puts a command line behind mgtrace's own flags.
func (b *bench) mgtrace(c command, args ...string) []string {
	for _, m := range c.modules {
		args = append(args, "--module", m)
	}
	if args[0] == "record" && b.recordJSON {
		args = append(args, "--json")
	}
	argv := append([]string{b.binary}, args...)
	return append(append(argv, c.argv[0], "--"), c.argv[1:]...)
}

func valgrind(args ...string) func(*bench, command) ([]string, error) {
	return other("valgrind", append(args, "--log-file=/dev/null")...)
}

// other is a tool that stands before a command line. A relative file name among
// its arguments after -o is one of the temporary directory.
func other(name string, args ...string) func(*bench, command) ([]string, error) {
	return func(b *bench, c command) ([]string, error) {
		path, err := exec.LookPath(name)
		if err != nil {
			return nil, fmt.Errorf("%s is not installed", name)
		}
		args := slices.Clone(args)
		if i := slices.Index(args, "-o"); i >= 0 {
			args[i+1] = filepath.Join(b.dir, args[i+1])
		}
		return append(append([]string{path}, args...), c.argv...), nil
	}
}

// A bench is the measurement as a whole.
type bench struct {
	binary     string // mgtrace
	engine     string
	recordJSON bool   // record knows --json
	dir        string // temporary
	trace      string // where traces are written, in dir
	rounds     int
	limit      time.Duration
	columns    []column
}

// program measures one program in all columns.
func (b *bench) program(ctx context.Context, name string, c command) *row {
	r := &row{Program: name, Command: strings.Join(c.argv, " "), Cells: map[string]*cell{}}
	for _, col := range b.columns {
		r.Cells[col.name] = &cell{}
	}
	for round := range b.rounds {
		native := measure(ctx, b.dir, c, c.argv, b.limit)
		if native.err != nil {
			r.Reason = "native: " + native.err.Error()
			return r
		}
		r.Native, r.NativeCPU = append(r.Native, native.seconds), append(r.NativeCPU, native.cpu)
		for _, col := range b.columns {
			cell := r.Cells[col.name]
			if ctx.Err() != nil {
				cell.Reason = "interrupted"
			}
			if !col.always && round > 0 || cell.Reason != "" || cell.Over {
				continue
			}
			argv, err := col.argv(b, c)
			if err != nil {
				cell.Reason = err.Error()
				continue
			}
			o := measure(ctx, b.dir, c, argv, b.limit)
			cell.add(o, native)
			if cell.Reason == "" {
				r.count(ctx, b, col.name, o)
			}
			b.clear()
		}
	}
	r.finish()
	return r
}

// count takes the number of stores and of bytes from a recording.
func (r *row) count(ctx context.Context, b *bench, column string, o outcome) {
	if o.err != nil {
		return // stopped: neither is whole
	}
	if column == "everything" && o.stores > 0 {
		r.Stores = o.stores
	}
	if column != "disk" || r.Bytes != 0 {
		return
	}
	if info, err := os.Stat(b.trace); err == nil {
		r.Bytes = info.Size()
	}
	if r.Stores == 0 {
		r.Stores = o.stores
	}
	if r.Stores == 0 {
		if out, err := exec.CommandContext(ctx, b.binary, "info", "--json", b.trace).Output(); err == nil {
			r.Stores = storesIn(out)
		}
	}
}

// clear removes what a tool wrote.
func (b *bench) clear() {
	os.Remove(b.trace)
	os.Remove(b.trace + ".flow")
	os.RemoveAll(filepath.Join(b.dir, "rr-trace"))
}

// start measures start-up: a bash that does nothing, in milliseconds beyond native.
func (b *bench) start(ctx context.Context) (map[string]float64, map[string]string) {
	times, reasons := map[string]float64{}, map[string]string{}
	path, err := tool("bash")
	if err != nil {
		return nil, map[string]string{"start-up": err.Error()}
	}
	c := command{argv: []string{path, "-c", ":"}}
	ways := map[string][]string{
		b.engine: b.mgtrace(c, "record", "--engine", b.engine, "--everything", "--discard"),
		"ebpf":   b.mgtrace(c, "record", "--engine", "ebpf", "-o", b.trace),
	}
	for name, argv := range ways {
		var extra []float64
		for range max(5, b.rounds) {
			native := measure(ctx, b.dir, c, c.argv, b.limit)
			o := measure(ctx, b.dir, c, argv, b.limit)
			b.clear()
			if err := errors.Join(native.err, o.err); err != nil {
				reasons[name] = err.Error()
				break
			}
			extra = append(extra, 1000*(o.seconds-native.seconds))
		}
		if reasons[name] == "" {
			times[name] = median(extra)
		}
	}
	return times, reasons
}
