package objfile

import (
	"fmt"
	"strings"
	"testing"
)

// TestLocalsJudged stops programs under gdb in functions, and compares where their variables lie, from the canonical frame
// address. Where the compiler takes them apart, or moves them, none has a place.
func TestLocalsJudged(t *testing.T) {
	need(t, "gdb")
	const script = `
def locals():
  cfa = int(gdb.execute('info frame', to_string=True).split('\n')[0].split(' frame at ')[1].rstrip(':'), 16)
  frame = gdb.newest_frame()
  block = frame.block()
  while block.function is None: block = block.superblock
  for sym in block:
    if not sym.is_variable or sym.is_argument or sym.addr_class == gdb.SYMBOL_LOC_STATIC: continue
    v = sym.value(frame)
    if v.is_optimized_out or v.address is None: print('var', frame.function().name, sym.name, 'none')
    else: print('var', frame.function().name, sym.name, (int(v.address) & (1 << 64) - 1) - cfa)
`
	judge(t, func(t *testing.T, prog string) {
		f := open(t, prog, Options{})
		args := []string{"-nx", "-batch", "-ex", "set debuginfod enabled off", "-ex", fmt.Sprintf("python exec(%q)", script)}
		for _, b := range []string{"main", "push", "walk", "deep", "insert"} {
			args = append(args, "-ex", "break "+b)
		}
		args = append(args, "-ex", "run >/dev/null", "-ex", "python locals()")
		for range 3 {
			args = append(args, "-ex", "continue", "-ex", "python locals()")
		}
		placed, vars := 0, 0
		for line := range strings.SplitSeq(run(t, "", "gdb", append(args, prog)...), "\n") {
			w := strings.Fields(line)
			if len(w) < 4 || w[0] != "var" {
				continue
			}
			function, name, want := strings.Join(w[1:len(w)-2], " "), w[len(w)-2], w[len(w)-1]
			vars++
			function = strings.TrimSuffix(function, "(int, char**)") // main's
			for _, l := range f.Locals(function, name) {
				if l.Why == "" {
					placed++
					if got := fmt.Sprint(l.Offset); got != want {
						t.Errorf("%s of %s: at %s, gdb: %s", name, function, got, want)
					}
				}
			}
		}
		t.Logf("%d variables, %d with a place", vars, placed)
		if strings.Contains(t.Name(), "-O0") && (vars == 0 || placed < vars) {
			t.Errorf("of %d variables %d have a place", vars, placed)
		}
		if strings.Contains(t.Name(), "/c/") && len(f.Locals("push", "serial")) > 0 {
			t.Error("a static variable is one of the frame")
		}
	})
}
