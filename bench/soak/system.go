package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
)

// A system is what a tracer might leave in the machine as a whole. What could not
// be read is nil or 0.
type system struct {
	programs []string // loaded eBPF programs, by identifier
	pinned   []string
	uprobes  []string // lines of uprobe_events
	cgroups  []string // with mgtrace in their name: the system makes others all the time
	shm      []string
	home     []string // files in the home directory of the tracers
	files    int      // open file descriptions
	memory   int      // kB that the kernel cannot reclaim
	own      int      // descriptors of this process
}

func look(home string) system {
	s := system{
		programs: programs(), pinned: tree("/sys/fs/bpf", false), cgroups: named(tree("/sys/fs/cgroup", true), "mgtrace"), shm: tree("/dev/shm", false),
		home: tree(home, false),
	}
	for _, f := range []string{"/sys/kernel/tracing/uprobe_events", "/sys/kernel/debug/tracing/uprobe_events"} {
		if text, err := os.ReadFile(f); err == nil {
			s.uprobes = append([]string{}, strings.Split(strings.TrimSpace(string(text)), "\n")...)
			break
		}
	}
	if text, err := os.ReadFile("/proc/sys/fs/file-nr"); err == nil {
		fmt.Sscan(string(text), &s.files)
	}
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		var name string
		var kB int
		fmt.Sscan(line, &name, &kB)
		switch name { // maps and rings of eBPF are in these
		case "SUnreclaim:", "VmallocUsed:", "Percpu:", "KernelStack:", "PageTables:":
			s.memory += kB
		}
	}
	own, _ := os.ReadDir("/proc/self/fd")
	s.own = len(own)
	return s
}

func programs() []string {
	if _, err := ebpf.ProgramGetNextID(0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	list := []string{}
	for id, err := ebpf.ProgramGetNextID(0); err == nil; id, err = ebpf.ProgramGetNextID(id) {
		list = append(list, fmt.Sprint(id))
	}
	return list
}

// tree lists a directory, or only the directories below it.
func tree(root string, directories bool) []string {
	if _, err := os.ReadDir(root); err != nil {
		return nil
	}
	list := []string{}
	filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != root && (d.IsDir() || !directories) {
			list = append(list, path)
		}
		return nil
	})
	return list
}

// named keeps the paths that have part in them; nil stays nil.
func named(paths []string, part string) []string {
	return slices.DeleteFunc(paths, func(p string) bool { return !strings.Contains(p, part) })
}

// left says what is there now and was not before. Only what was there at once and
// is there still after half a minute counts: other work on the machine comes and goes.
func (before system) left(home string, runs int) []string {
	first := look(home)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(time.Second) {
		now := look(home)
		var leaks []string
		for _, l := range []struct {
			what               string
			before, first, now []string
		}{
			{"eBPF program", before.programs, first.programs, now.programs},
			{"pinned object", before.pinned, first.pinned, now.pinned},
			{"uprobe event", before.uprobes, first.uprobes, now.uprobes},
			{"cgroup", before.cgroups, first.cgroups, now.cgroups},
			{"shared memory", before.shm, first.shm, now.shm},
			{"file", before.home, first.home, now.home},
		} {
			for _, x := range l.now {
				if !slices.Contains(l.before, x) && slices.Contains(l.first, x) {
					leaks = append(leaks, fmt.Sprintf("%s %s is left", l.what, x))
				}
			}
		}
		if d := now.files - before.files; d > max(500, runs/4) {
			leaks = append(leaks, fmt.Sprintf("%d more open files in the system", d))
		}
		if d := now.memory - before.memory; d > max(128<<10, 8*runs) {
			leaks = append(leaks, fmt.Sprintf("the kernel uses %d MB more", d>>10))
		}
		if now.own > before.own+4 { // the runtime may have opened its poller
			leaks = append(leaks, fmt.Sprintf("%d descriptors of this process more", now.own-before.own))
		}
		if len(leaks) == 0 || time.Now().After(end) {
			fmt.Printf("system: open files %d → %d, unreclaimable kernel memory %d → %d MB, eBPF programs %d → %d\n",
				before.files, now.files, before.memory>>10, now.memory>>10, len(before.programs), len(now.programs))
			return leaks
		}
	}
}

// unread says what could not be looked at.
func (s system) unread() string {
	var list []string
	for what, v := range map[string][]string{
		"eBPF programs": s.programs, "/sys/fs/bpf": s.pinned, "uprobe_events": s.uprobes, "cgroups": s.cgroups, "/dev/shm": s.shm,
	} {
		if v == nil {
			list = append(list, what)
		}
	}
	if len(list) == 0 {
		return "not checked: nothing"
	}
	slices.Sort(list)
	return "not checked, since it cannot be read: " + strings.Join(list, ", ")
}
