package analysis

import (
	"slices"

	"mgtrace/mgpp"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// maxAssigned is how many operations, the newest, are looked at for the statements of stores.
const maxAssigned = 1 << 20

// assignStores finds the statements of the stores of the history that the line table has
// at a line that does not do them. It returns the fields that each has written, by
// instruction.
func (a *Analysis) assignStores() map[trace.Addr][]string {
	cells := locatorCells{a.Graph}
	fields := map[trace.Addr][]string{}
	var stores []symbol.Store
	now := a.Hist.Now()
	for t := now; t > 0 && now-t < maxAssigned; t-- {
		kind, pc := a.Hist.Statement(t)
		if _, seen := fields[pc]; seen || kind != mgpp.OpStore || pc == 0 {
			continue
		}
		op, v := a.Hist.Op(t), a.Hist.At(t)
		if op.Base != 0 && !a.within(op.Base, op.Addr, v) {
			continue // out of bounds, it hits a field that is not meant
		}
		x := symbol.Store{PC: op.PC, Called: slices.Contains(op.Stack, op.PC+1)} // see attribute
		for at := op.Addr; at < op.Addr+trace.Addr(op.Size); {
			c, ok := cells.Cell(at, v)
			if !ok {
				break
			}
			paths := []string{c.Path}
			for _, p := range c.Parts { // the store may be to any of the bit-fields there
				paths = append(paths, p.Path)
			}
			for _, path := range paths {
				if name := symbol.MemberOf(path).Name; name != "" && !slices.Contains(x.Fields, name) {
					x.Fields = append(x.Fields, name)
				}
			}
			at = c.Addr + trace.Addr(c.Size)
		}
		fields[op.PC] = x.Fields
		stores = append(stores, x)
	}
	a.Symbols.Assign(stores)
	return fields
}

// within: an address is in the object that another one is in.
func (a *Analysis) within(base, addr trace.Addr, v mgpp.View) bool {
	cells := locatorCells{a.Graph}
	o := cells.At(addr, v)
	return o != 0 && cells.At(base, v) == o
}
