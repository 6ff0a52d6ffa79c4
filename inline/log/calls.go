package log

import (
	"encoding/binary"

	"mgtrace/inline/layout"
	"mgtrace/trace"
)

// maxCalls bounds the sites of calls: what more of them write comes as hits. A program has
// as many as it has calls of memcpy and its kin, for each number of bytes.
const maxCalls = 1 << 16

// maxAllocs bounds the sites of allocators likewise. A program has as many as it has stacks where
// one is called.
const maxAllocs = 1 << 14

// calls are the sites that stand behind those of the plan: calls of library functions that
// wrote no more than a store may, by function, return address, and number of bytes; and calls of
// allocators, by function, return address, and number of the stack.
type calls struct {
	tell   func(fresh []trace.StoreSite) error // Options.Calls
	funcs  []string
	forms  []allocForm       // of funcs
	first  int               // sites of the plan, which come before
	sites  []trace.StoreSite // of calls
	told   int               // of sites
	most   int               // sites there may be of calls that write
	allocs int               // sites of allocators
	known  map[callKey]uint32
	near   [1 << nearCalls]nearCall // some of those that came last
	// stacks are those of allocators that came last by each stack, by its number. Those without one,
	// as all calls of free, are among near.
	stacks []nearCall
}

// allocForm is what an outermost call of a function is; no kind: nothing that a run has.
type allocForm struct {
	kind  trace.Kind
	flags trace.Flags
}

const nearCalls = 10

type callKey struct {
	pc uint64
	of uint64 // index of the function << 8 | bytes; or << 32 | number of the stack, with ofAlloc
}

const ofAlloc = 1 << 63

type nearCall struct {
	key  callKey
	site uint32
}

// begin forgets all calls: the sites of the plan are others.
func (c *calls) begin(table *Table) {
	if c.tell == nil {
		return
	}
	c.funcs, c.forms, c.first, c.sites, c.told, c.most, c.allocs = table.funcs, table.allocs, len(table.sites), nil, 0, maxCalls, 0
	c.known = make(map[callKey]uint32)
	clear(c.near[:])
	c.stacks = c.stacks[:0]
}

// last is where the call that came last of those with this key is to be found, or of others.
func (c *calls) last(key callKey) *nearCall {
	return &c.near[(key.pc^key.of<<3)*0x9e3779b97f4a7c15>>(64-nearCalls)]
}

// lastBy is where the call of an allocator with this key and stack is, likewise.
func (c *calls) lastBy(key callKey, number uint32) *nearCall {
	if number == 0 || number >= maxAllocs {
		return c.last(key)
	}
	for uint32(len(c.stacks)) <= number {
		c.stacks = append(c.stacks, nearCall{})
	}
	return &c.stacks[number]
}

// site is the number of a call's site. It is false if there is no such function, or no room
// for one more.
func (c *calls) site(index uint32, pc uint64, bytes int) (uint32, bool) {
	key := callKey{pc, uint64(index)<<8 | uint64(bytes)}
	near := c.last(key)
	if near.key == key {
		return near.site, true
	}
	site, ok := c.known[key]
	if !ok {
		if uint64(index) >= uint64(len(c.funcs)) || c.funcs[index] == "" || len(c.sites)-c.allocs == c.most {
			return 0, false
		}
		site = uint32(c.first + len(c.sites))
		c.sites = append(c.sites, trace.CallSite(c.funcs[index], trace.Addr(pc), uint8(bytes)))
		c.known[key] = site
	}
	*near = nearCall{key, site}
	return site, true
}

// alloc is the number of the site of an allocator's call by a stack, of which known knows the number;
// 0: it is the return address alone. It is false if there is none, or no room for one more.
func (c *calls) alloc(index uint32, pc uint64, number uint32, known func(uint32) []trace.Addr) (uint32, bool) {
	key := callKey{pc, ofAlloc | uint64(index)<<32 | uint64(number)}
	near := c.lastBy(key, number)
	if near.key == key {
		return near.site, true
	}
	site, ok := c.known[key]
	if !ok {
		stack := []trace.Addr{trace.Addr(pc)}
		if number != 0 {
			if known == nil {
				return 0, false
			}
			stack = known(number)
		}
		if stack == nil || c.funcs[index] == "" || c.allocs == maxAllocs {
			return 0, false
		}
		form := &c.forms[index]
		site = uint32(c.first + len(c.sites))
		c.sites = append(c.sites, trace.AllocSite(form.kind, form.flags, c.funcs[index], trace.Addr(pc), stack))
		c.allocs++
		c.known[key] = site
	}
	*near = nearCall{key, site}
	return site, true
}

// announce tells of the sites that are new.
func (c *calls) announce() error {
	if c.told == len(c.sites) || c.tell == nil {
		return nil
	}
	fresh := c.sites[c.told:]
	c.told = len(c.sites)
	return c.tell(fresh)
}

// call puts what a call wrote into the run, if it is as a store's: few bytes, all known, from
// the destination on. What else a call writes is left to others.
func (m *Merger) call(t *thread, record []byte) (took bool, err error) {
	r := (*[layout.WriteSize]byte)(record)
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
	// The operation and the flags, of which there are none, as one number.
	if u64(layout.WriteOp) != layout.WriteBulk {
		return false, nil
	}
	n := u64(layout.WriteLen)
	addr := u64(layout.WriteAddr)
	if n-1 >= trace.MaxStoreWidth || uint64(binary.LittleEndian.Uint32(r[layout.WriteBytes:])) != n ||
		n > uint64(len(record)-layout.WriteSize) || u64(layout.WriteBase) != addr || u64(layout.WriteOff) != 0 {
		return false, nil
	}
	site, ok := m.calls.site(binary.LittleEndian.Uint32(r[layout.WriteIndex:]), u64(layout.WritePC), int(n))
	if !ok {
		return false, nil
	}
	if err := m.at(t, u64(layout.SpecialTime)); err != nil {
		return false, err
	}
	rec := trace.StoreRec{Site: site, Addr: addr}
	data := record[layout.WriteSize:][:n]
	if n > 8 {
		rec.Value = uint64(len(m.run.Wide))
		m.run.Wide = append(m.run.Wide, data...)
	} else {
		for i, b := range data {
			rec.Value |= uint64(b) << (8 * i)
		}
	}
	m.run.Recs = append(m.run.Recs, rec)
	m.run.Calls++
	return true, nil
}

// alloc takes an outermost call of an allocator, or of free, into the run, if it is an event of which
// the site and the block tell all.
func (m *Merger) alloc(t *thread, record []byte) (took bool, err error) {
	r := (*[layout.AllocSize]byte)(record)
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(r[at:]) }
	index := binary.LittleEndian.Uint32(r[layout.AllocFunc:])
	if len(record) != layout.AllocSize || uint64(index) >= uint64(len(m.calls.forms)) {
		return false, nil
	}
	rec := trace.StoreRec{Addr: u64(layout.AllocResult), Value: u64(layout.AllocBytes)}
	switch m.calls.forms[index].kind {
	case trace.KindFree:
		rec.Addr, rec.Value = u64(layout.AllocPtr), 0
	case 0:
		return false, nil
	}
	if rec.Addr == 0 || !m.allocs(t.id) {
		return false, nil
	}
	site, ok := m.calls.alloc(index, u64(layout.AllocRet), binary.LittleEndian.Uint32(r[layout.AllocKnown:]), m.decoder.Known)
	if !ok {
		return false, nil
	}
	if err := m.at(t, u64(layout.SpecialTime)); err != nil {
		return false, err
	}
	rec.Site = site
	m.run.Allocs = append(m.run.Allocs, int32(len(m.run.Recs)))
	m.run.Recs = append(m.run.Recs, rec)
	m.run.Calls++
	return true, nil
}

// at makes room in a run of this time for a record that the time was read for.
func (m *Merger) at(t *thread, time uint64) error {
	if wall := m.decoder.Clock.Wall(time); wall != t.wall || len(m.run.Recs) == batch {
		if err := m.flush(t); err != nil {
			return err
		}
		t.wall = wall
	}
	if len(m.run.Recs) == 0 {
		m.run.Recs = m.room(batch)
	}
	return nil
}
