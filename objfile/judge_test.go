package objfile

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"mgtrace/cxxname"
	"mgtrace/objfile/dwarf"
)

var judged = []config{
	{"gcc", "-g -gdwarf-4 -O0"},
	{"gcc", "-g -gdwarf-5 -O3 -no-pie"},
	{"clang-14", "-g -gdwarf-5 -O0"},
	{"clang-14", "-g -gdwarf-4 -O2"},
}

// judge runs test on the C and the C++ program in every configuration.
func judge(t *testing.T, test func(t *testing.T, prog string)) { judgeIn(t, judged, test) }

func judgeIn(t *testing.T, configs []config, test func(t *testing.T, prog string)) {
	for _, c := range configs {
		for lang, sources := range map[string][]string{"c": cProgram, "c++": cxxProgram} {
			t.Run(lang+"/"+c.name(), func(t *testing.T) { test(t, compileOnce(t, c, sources...)) })
		}
	}
}

// TestFramesJudged compares inlined frames with addr2line, at every third
// address of the program's code.
func TestFramesJudged(t *testing.T) {
	judge(t, func(t *testing.T, prog string) {
		f := open(t, prog, Options{})
		addrs := codeAddrs(f, 3)
		// binutils mistakes some files of clang's DWARF 5.
		tool := "addr2line"
		if strings.Contains(t.Name(), "clang") {
			tool = "llvm-addr2line-14"
		}
		want := addr2line(t, tool, prog, addrs)
		bad := 0
		for _, a := range addrs {
			var got []string
			for _, fr := range f.Frames(a) {
				got = append(got, fmt.Sprintf("%s %s:%d", cxxname.Plain(fr.Function), fr.File, fr.Line))
			}
			if !sameFrames(got, want[a]) {
				if bad++; bad < 5 {
					t.Errorf("%#x:\n got %v\nwant %v", a, got, want[a])
				}
			}
		}
		if bad > 0 {
			t.Errorf("%d of %d addresses differ", bad, len(addrs))
		}
	})
}

// sameFrames compares positions exactly. Names agree up to what addr2line does
// with functions for which gcc gives no linkage name: it leaves out their
// scopes and parameters, or takes the symbol's name for an inlined one; and up
// to the demanglers' ways to write an empty list of template arguments and the
// type of nullptr.
func sameFrames(got, want []string) bool {
	if len(got) != len(want) {
		return false
	}
	for i := range got {
		gname, gpos := cutLast(strings.ReplaceAll(got[i], ",>", ">"))
		wname, wpos := cutLast(strings.ReplaceAll(want[i], "std::nullptr_t", "decltype(nullptr)"))
		if gpos != path.Clean(wpos) {
			return false
		}
		outer, _ := cutLast(want[len(want)-1])
		plain := strings.Count(gname, "(") == strings.Count(gname, "operator()") && i < len(want)-1
		if !strings.Contains(gname, wname) && !(plain && wname == outer) {
			return false
		}
	}
	return true
}

func cutLast(s string) (before, after string) {
	i := strings.LastIndexByte(s, ' ')
	return s[:max(i, 0)], s[i+1:]
}

func addr2line(t *testing.T, tool, prog string, addrs []uint64) map[uint64][]string {
	need(t, tool)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, tool, "-a", "-f", "-i", "-C", "-e", prog)
	var in bytes.Buffer
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	result := map[uint64][]string{}
	var at uint64
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() {
		line := sc.Text()
		if strings.HasPrefix(line, "0x") {
			at, _ = strconv.ParseUint(line[2:], 16, 64)
			continue
		}
		name := cxxname.Plain(line)
		sc.Scan()
		pos, _, _ := strings.Cut(sc.Text(), " (discriminator")
		pos = strings.Replace(pos, ":?", ":0", 1)
		result[at] = append(result[at], name+" "+pos)
	}
	return result
}

// TestLinesJudged compares line tables with llvm-dwarfdump's reading.
func TestLinesJudged(t *testing.T) {
	need(t, "llvm-dwarfdump-14")
	judge(t, func(t *testing.T, prog string) {
		want := map[string]bool{}
		for _, line := range strings.Split(run(t, "", "llvm-dwarfdump-14", "--debug-line", prog), "\n") {
			fs := strings.Fields(line)
			if len(fs) < 6 || !strings.HasPrefix(fs[0], "0x") || len(fs[0]) != 18 {
				continue
			}
			addr, _ := strconv.ParseUint(fs[0][2:], 16, 64)
			flags := strings.Join(fs[6:], " ")
			want[fmt.Sprintf("%x %s %s %s %v %v", addr, fs[1], fs[2], fs[3], strings.Contains(flags, "is_stmt"), strings.Contains(flags, "end_sequence"))] = true
		}
		got := 0
		f := open(t, prog, Options{})
		for _, u := range f.info().units {
			if l := u.Lines(); l != nil {
				l.Sequences(func(rows []dwarf.Row) {
					for _, r := range rows {
						got++
						if s := fmt.Sprintf("%x %d %d %d %v %v", r.Addr, r.Line, r.Column, r.File, r.Stmt, r.End); !want[s] {
							t.Errorf("row %s", s)
						}
					}
				})
			}
		}
		if got < len(want) || got < 20 {
			t.Errorf("%d rows, want %d", got, len(want))
		}
	})
}

// TestUnwindTableJudged compares call frame information, row by row, with
// readelf's reading; of the system's libraries too.
func TestUnwindTableJudged(t *testing.T) {
	need(t, "readelf")
	judge(t, unwindTable)
	for _, lib := range []string{"/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/bin/bash"} {
		t.Run(lib, func(t *testing.T) {
			if _, err := Open(lib, Options{}); err != nil {
				t.Skip(err)
			}
			unwindTable(t, lib)
		})
	}
}

func unwindTable(t *testing.T, prog string) {
	f := open(t, prog, Options{NoDebug: true})
	var columns []string
	fde := false
	rows, bad := 0, 0
	for _, line := range strings.Split(run(t, "", "readelf", "-W", "--debug-dump=frames-interp,no-follow-links", prog), "\n") {
		fs := strings.Fields(line)
		switch {
		case strings.Contains(line, " CIE "):
			fde = false
		case strings.Contains(line, " FDE "):
			fde = true
		case len(fs) > 1 && fs[0] == "LOC":
			columns = fs[2:]
		case fde && len(fs) == len(columns)+2 && len(fs[0]) == 16:
			pc, err := strconv.ParseUint(fs[0], 16, 64)
			if err != nil || !f.executable(pc) {
				continue
			}
			rows++
			if got := rowText(f, pc, columns); got != strings.Join(fs[1:], " ") {
				if bad++; bad < 5 {
					t.Errorf("%#x: %v\n got %s\nwant %s", pc, columns, got, strings.Join(fs[1:], " "))
				}
			}
		}
	}
	if bad > 0 || rows < 10 {
		t.Errorf("%d of %d rows differ", bad, rows)
	}
}

var registerNames = [...]string{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ra"}

// rowText writes a row as readelf does.
func rowText(f *File, pc uint64, columns []string) string {
	row, _, _ := f.frameRow(pc)
	if row == nil {
		return "none"
	}
	text := "exp"
	if row.cfa.kind == ruleRegister {
		text = fmt.Sprintf("%s%+d", registerNames[row.cfa.reg], row.cfa.n)
	}
	for _, c := range columns {
		for i, name := range registerNames {
			if name != c {
				continue
			}
			switch r := row.regs[i]; r.kind {
			case ruleNone, ruleUndefined:
				text += " u"
			case ruleSame:
				text += " s"
			case ruleOffset:
				text += fmt.Sprintf(" c%+d", r.n)
			case ruleValOffset:
				text += fmt.Sprintf(" v%+d", r.n)
			case ruleRegister:
				text += " " + registerNames[r.reg]
			case ruleExpr:
				text += " exp"
			case ruleValExpr:
				text += " vexp"
			}
		}
	}
	return text
}

// TestFuncsJudged compares functions with nm.
func TestFuncsJudged(t *testing.T) {
	need(t, "nm")
	judge(t, func(t *testing.T, prog string) {
		f := open(t, prog, Options{})
		bare := open(t, prog, Options{NoDebug: true})
		for _, line := range strings.Split(run(t, "", "nm", "-S", "--defined-only", prog), "\n") {
			fs := strings.Fields(line)
			if len(fs) != 4 || !strings.Contains("TtWw", fs[2]) {
				continue
			}
			addr, _ := strconv.ParseUint(fs[0], 16, 64)
			size, _ := strconv.ParseUint(fs[1], 16, 64)
			if !f.executable(addr) {
				continue
			}
			for _, f := range []*File{f, bare} {
				fn, ok := f.FuncAt(addr + size/2)
				if !ok || !fn.Contains(addr) {
					t.Errorf("%s: FuncAt is %+v", line, fn)
				}
				if cxxname.IsCold(fs[3]) {
					if fn.Addr == addr {
						t.Errorf("%s has an entry: %+v", line, fn)
					}
					continue
				}
				if fn.Linkage != fs[3] && !has(fn.Aliases, fs[3]) || fn.Size != size {
					t.Errorf("%s: got %+v", line, fn)
				}
				if found := f.FuncsNamed(fs[3]); len(found) == 0 {
					t.Errorf("%s: not found by name", fs[3])
				}
			}
		}
	})
}
