package inline

import (
	"slices"
	"sync"

	"mgtrace/capture"
	"mgtrace/inline/hook"
	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// knownStacks are the stacks of calls that were unwound. The hook routine is told by what to
// recognise them: then a number in the log stands for half a kilobyte of stack.
type knownStacks struct {
	table   []byte         // in shared memory
	stacks  [][]trace.Addr // by number less one
	numbers map[*trace.Addr]uint32
	mu      sync.Mutex // guards stacks from who asks beside the reader
}

// knowStacks has the routine told of each stack that is unwound from here on.
func (e *Engine) knowStacks() *knownStacks {
	at := e.at.paths - e.arena.base
	k := &knownStacks{table: e.arena.mem[at:][:hook.PathsSize], numbers: map[*trace.Addr]uint32{}}
	*e.arena.process(layout.Paths) = e.at.paths
	e.opts.Unwind.Learned = k.learned
	return k
}

// learned notes a path. Its stack never changes, and there is one copy of each.
func (k *knownStacks) learned(key capture.PathKey, way int, p *capture.Path) {
	first := &p.Stack[0]
	number := k.numbers[first]
	if number == 0 {
		k.mu.Lock()
		k.stacks = append(k.stacks, p.Stack)
		k.mu.Unlock()
		number = uint32(len(k.stacks))
		k.numbers[first] = number
	}
	hook.PutPath(k.table, key, way, p, number)
}

// forget has the routine told of stacks anew, which keep their numbers.
func (k *knownStacks) forget() { hook.ForgetPaths(k.table) }

// number is that of a stack; 0: it has none. Any goroutine may ask.
func (k *knownStacks) number(stack []trace.Addr) uint32 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return uint32(slices.IndexFunc(k.stacks, func(s []trace.Addr) bool { return slices.Equal(s, stack) }) + 1)
}

// stack is the one of a number; nil: there is none.
func (k *knownStacks) stack(number uint32) []trace.Addr {
	if i := uint64(number) - 1; i < uint64(len(k.stacks)) {
		return k.stacks[i]
	}
	return nil
}
