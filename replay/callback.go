package replay

import (
	"fmt"
	"slices"
)

// sort does what qsort does: elements that compare equal stay in their order, as in the merge sort of glibc. What compares sees the array as it
// was, so long as it lasts. arg is what it is given besides (qsort_r).
func (c *cpu) sort(base, count, size, compare, arg, ret uint64) {
	if size > maxData || count > maxData || count*size > maxData {
		c.fail(fmt.Errorf("%w: qsort", ErrLibrary))
		return
	}
	order := make([]uint64, count)
	for i := range order {
		order[i] = uint64(i)
	}
	slices.SortStableFunc(order, func(x, y uint64) int { return c.callback(compare, ret, base+x*size, base+y*size, arg) })
	was, sorted := c.bytes(base, count*size), []byte(nil)
	for _, i := range order {
		sorted = append(sorted, was[i*size:][:size]...)
	}
	if c.run.Err == nil {
		c.bulk("qsort", base, 0, sorted, ret)
	}
}

// search is bsearch (C17, 7.22.5.1), by the halves in which glibc looks.
func (c *cpu) search(key, base, count, size, compare, ret uint64) (found uint64) {
	for lo, hi := uint64(0), count; lo < hi && c.run.Err == nil; {
		mid := (lo + hi) / 2
		at := base + mid*size
		switch order := c.callback(compare, ret, key, at); {
		case order < 0:
			hi = mid
		case order > 0:
			lo = mid + 1
		default:
			return at
		}
	}
	return 0
}

// callback executes a function of the program's that the library calls, to its return.
func (c *cpu) callback(entry, ret uint64, args ...uint64) (result int) {
	if c.sources != nil {
		c.fail(fmt.Errorf("%w: one that calls back", ErrLibrary)) // what it depends on can not be followed through it
	}
	if c.run.Err != nil {
		return 0
	}
	for i, v := range args {
		c.reg[wholeArgs[i]], c.from[wholeArgs[i]] = v, nil
	}
	depth, sp := len(c.frames), c.reg[rsp]
	c.push(inLibrary)
	c.frames, c.calls = append(c.frames, ret), nil // as if it was called from where the library was
	for c.pc = entry; c.run.Err == nil && c.pc != inLibrary; {
		c.go1()
	}
	if c.run.Err == nil {
		c.frames, c.calls = c.frames[:depth], nil
		c.reg[rsp] = sp
	}
	return int(int32(c.reg[rax]))
}
