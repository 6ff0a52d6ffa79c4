package capture

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLocals: a variable of a function is a block from the first write to it in an activation to the end of that, or to its
// destructor.
func TestLocals(t *testing.T) {
	const list = 900 + 8 - 48 // of the activation with the stack pointer 900
	for _, c := range []struct {
		name string
		play func(m *machine)
		want string
	}{
		{"written and left", func(m *machine) {
			m.call(fHome, 900)
			m.store(800, list+8, 1, 2)
			m.store(800, list, 3)
			m.ret(fHome, 900, 0)
			m.store(800, list, 4)
		}, `
alloc local home::list 860 size 16 pc 57345
store 868 size 2 0102
store 860 size 1 03
free local home::list 860 size 0 pc 57360
store 860 size 1 04`},
		{"never written", func(m *machine) {
			m.call(fHome, 900)
			m.store(800, list-1, 1)
			m.store(800, list+16, 1)
			m.ret(fHome, 900, 0)
		}, "store 859 size 1 01\nstore 876 size 1 01"},
		{"both by one write", func(m *machine) {
			m.call(fHome, 900)
			m.store(800, list+15, make([]byte, 10)...)
			m.ret(fHome, 900, 0)
		}, `
alloc local home::list 860 size 16 pc 57345
alloc local home::spare 884 size 8 pc 57345
store 875 size 10 00000000000000000000
free local home::list 860 size 0 pc 57360
free local home::spare 884 size 0 pc 57360`},
		{"one for each activation", func(m *machine) {
			m.call(fHome, 900)
			m.store(800, list, 1)
			m.call(fHome, 700)
			m.store(600, list-200, 2)
			m.ret(fHome, 700, 0)
			m.store(800, list, 3)
			m.ret(fHome, 900, 0)
		}, `
alloc local home::list 860 size 16 pc 57345
store 860 size 1 01
alloc local home::list 660 size 16 pc 57345
store 660 size 1 02
free local home::list 660 size 0 pc 57360
store 860 size 1 03
free local home::list 860 size 0 pc 57360`},
		{"left without a return", func(m *machine) {
			m.call(fHome, 900)
			m.call(fHome, 700)
			m.store(600, list-200, 2)
			m.store(800, 5000, 3) // the stack pointer is above the inner one
			m.ret(fHome, 900, 0)
		}, `
alloc local home::list 660 size 16 pc 57345
store 660 size 1 02
free local home::list 660 size 0 pc 0
store 5000 size 1 03`},
		{"destroyed", func(m *machine) {
			m.call(fHome, 900)
			m.store(800, list, 1)
			m.call(fEnd, 800, list)
			m.ret(fEnd, 800, 0)
			m.ret(fHome, 900, 0)
		}, `
alloc local home::list 860 size 16 pc 57345
store 860 size 1 01
free local home::list 860 size 0 pc 61456`},
		{"another one destroyed", func(m *machine) {
			m.call(fHome, 900)
			m.store(800, list, 1)
			m.call(fEnd, 800, 5000)
			m.ret(fEnd, 800, 0)
		}, "alloc local home::list 860 size 16 pc 57345\nstore 860 size 1 01"},
		{"destroyed where that is inlined", func(m *machine) {
			m.call(fHome, 900)
			m.store(800, list, 1)
			m.stop(0x520, Hit{SP: 900 + 8 - 64})
			m.ret(fHome, 900, 0)
		}, `
alloc local home::list 860 size 16 pc 57345
store 860 size 1 01
free local home::list 860 size 0 pc 1312`},
		{"the thread ends", func(m *machine) {
			m.call(fHome, 900)
			m.store(800, list, 1)
			m.hit(Hit{Op: ThreadExit})
		}, `
alloc local home::list 860 size 16 pc 57345
store 860 size 1 01
free local home::list 860 size 0 pc 0
thread-exit`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMachine(nil)
			c.play(m)
			if d := cmp.Diff(strings.Split(strings.TrimSpace(c.want), "\n"), m.got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
