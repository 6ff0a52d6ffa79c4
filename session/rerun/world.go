package rerun

import (
	"encoding/binary"
	"slices"
	"strings"

	"mgtrace/mgpp"
	"mgtrace/replay"
	"mgtrace/session/symbol"
	"mgtrace/trace"
)

// world is the program as it was at a time, as far as the history and the files know it.
type world struct {
	view    mgpp.View
	history *mgpp.History
	symbols *symbol.Table
	told    map[uint64]byte // what was read when the call began, and what else is known
	// pointers are what a pointer variable at an address may hold that is not recorded, and choice says which of
	// these it is taken to hold; most is how many there were for one, at most.
	pointers     func(trace.Addr) []uint64
	choice, most int
	// flags is the size of an integer variable that begins at an address; 0: none does. set: those that are not recorded,
	// and that the program began with as 0, are taken to be 1, as is what says that something was done already.
	// unset: there was one, and set is not.
	flags      func(trace.Addr) int
	set, unset bool
	// numbers are such variables that were read, in order, whatever they began with, as long as noting is set.
	numbers []uint64
	noting  bool
	// statics are words of static memory that are not recorded and were read.
	statics []trace.Addr
	// single is where the C library notes, in a byte, that there is one thread; 0: nowhere, or there are more. By it the C++ library's
	// shared pointers count with locked instructions or without. asked is set where it is read.
	single uint64
	asked  *bool
	// declared is where objects in static memory begin that are recorded, in order.
	declared []uint64
	// constant is memory that no recording has and that is always the same.
	constant []known
}

// singleThreaded is the name of that byte (glibc manual, 36.2.1.1).
const singleThreaded = "__libc_single_threaded"

// Read implements replay.World. Of static memory that is not recorded it is what the program began with, and of
// pointers, since most are the root of something, to one of the nodes to which they may lead.
func (w *world) Read(addr uint64, data []byte, known []bool) {
	for i := 0; i < len(data); {
		n := w.readNode(addr+uint64(i), data[i:], known[i:])
		if n == 0 {
			n = w.readImage(addr+uint64(i), data[i:], known[i:])
		}
		if n == 0 {
			n = min(len(data)-i, int(8-(addr+uint64(i))&7)) // behind it may lie a block
			w.left(addr+uint64(i), data[i:i+n], known[i:i+n])
		}
		i += n
	}
	if i := w.single - addr; w.single != 0 && i < uint64(len(data)) {
		data[i], known[i], *w.asked = 1, true, true
	}
	for i := range w.constant {
		w.constant[i].read(addr, data, known)
	}
	for i := range data {
		// Of a block that can not matter some stores may have been recorded and later ones not: what was read there is newer.
		if b, ok := w.told[addr+uint64(i)]; ok {
			data[i], known[i] = b, true
		}
	}
}

// readNode reads what is of one block, and returns how much.
func (w *world) readNode(addr uint64, data []byte, known []bool) int {
	id, ok := w.view.NodeAt(trace.Addr(addr))
	if !ok {
		return 0
	}
	n, _ := w.view.Node(id)
	k := min(uint64(len(data)), uint64(n.Start)+n.Size-addr)
	b := mgpp.Bytes{Data: data[:k], Written: known[:k]}
	if !w.view.Read(trace.Addr(addr), &b) || slices.Contains(b.Written, false) {
		w.left(addr, data[:k], b.Written)
	}
	copy(known, b.Written)
	return int(k)
}

// left fills in, for what nothing has written in a block, what a block that lay there before has left, where that was recorded: it may
// be that still, as an allocator writes to a few words of what is free.
func (w *world) left(addr uint64, data []byte, written []bool) {
	if w.history.LastWrite(trace.Addr(addr), uint64(len(data)), w.view.Time()) == 0 {
		return // as most memory that nobody has written
	}
	for i := range data {
		if at := trace.Addr(addr) + trace.Addr(i); !written[i] {
			if t := w.history.LastWrite(at, 1, w.view.Time()); t > 0 {
				b := mgpp.Bytes{Data: data[i : i+1], Written: make([]bool, 1)}
				w.history.At(t).Read(at, &b)
			}
		}
	}
}

// readImage reads what is of the file of the program or of a library.
func (w *world) readImage(addr uint64, data []byte, known []bool) int {
	im, ok := w.symbols.Image(trace.Addr(addr))
	if !ok || im.Obj == nil {
		return 0
	}
	k := min(uint64(len(data)), uint64(im.Hi)-addr, 8-addr&7)
	if i, _ := slices.BinarySearch(w.declared, addr+1); i < len(w.declared) { // behind it may lie an object that is recorded
		k = min(k, w.declared[i]-addr)
	}
	copy(data[:k], im.Obj.Code(addr-uint64(im.Bias), int(k)))
	for i := range k {
		known[i] = true
	}
	for i, n := uint64(0), uint64(0); w.flags != nil && i < k && !(w.unset && !w.set && !w.noting); i += max(n, 1) {
		if n = uint64(w.flags(trace.Addr(addr + i))); n == 0 || i+n > k {
			continue
		}
		if w.noting && len(w.numbers) < maxNumbers && !slices.Contains(w.numbers, addr+i) {
			w.numbers = append(w.numbers, addr+i)
		}
		if !slices.ContainsFunc(data[i:i+n], func(b byte) bool { return b != 0 }) {
			if w.unset = true; w.set {
				data[i] = 1
			}
		}
	}
	if im.Traced && w.noting && len(w.statics) < maxStatics && !slices.Contains(w.statics, trace.Addr(addr)) {
		w.statics = append(w.statics, trace.Addr(addr))
	}
	if k == 8 {
		w.link(im, addr, data)
		list := w.pointers(trace.Addr(addr))
		if w.most = max(w.most, len(list)); w.choice < len(list) {
			binary.LittleEndian.PutUint64(data, list[w.choice])
		}
	}
	return int(k)
}

// maxStatics bounds what is noted of static memory.
const maxStatics = 64

// link writes to a word what the dynamic linker wrote there: tables of functions have such.
func (w *world) link(im *symbol.Image, addr uint64, data []byte) {
	s, ok := im.Obj.Slot(addr - uint64(im.Bias))
	if !ok {
		return
	}
	to := trace.Addr(s.To) + im.Bias
	if s.Symbol != "" {
		if to, ok = w.symbols.Exported(s.Symbol); !ok {
			return
		}
	}
	binary.LittleEndian.PutUint64(data, uint64(to))
}

// Code implements replay.World: of the program's own code.
func (w *world) Code(pc uint64) []byte {
	im, ok := w.symbols.Image(trace.Addr(pc))
	if !ok || !executes(im) {
		return nil
	}
	return im.Obj.Code(pc-uint64(im.Bias), 16)
}

// executes: the code of a file is executed: what is traced, and the C++ library, of which programs call what has no name among
// the functions that replay knows (std::string's).
func executes(im *symbol.Image) bool {
	return im.Obj != nil && (im.Traced || symbol.IsLibCXX(im.Path))
}

// Function implements replay.World.
func (w *world) Function(name string) (pc uint64, ok bool) {
	at, ok := w.symbols.Exported(name)
	if !ok {
		return 0, false
	}
	im, ok := w.symbols.Image(at)
	return uint64(at), ok && executes(im)
}

// Import implements replay.World.
func (w *world) Import(pc uint64) string {
	im, ok := w.symbols.Image(trace.Addr(pc))
	if !ok || im.Obj == nil {
		return ""
	}
	at := pc - uint64(im.Bias)
	if executes(im) {
		return im.Obj.Import(at)
	}
	fn, ok := im.Obj.FuncAt(at)
	if !ok || fn.Addr != at {
		return ""
	}
	names := append([]string{fn.Linkage}, fn.Aliases...)
	if i := slices.IndexFunc(names, func(name string) bool { return !strings.HasPrefix(name, "__") }); i >= 0 {
		return names[i] // the others are for the library itself
	}
	return fn.Linkage
}

// learn takes from what was recorded what lay in memory that nobody had recorded, as a caller's
// string on the stack does: what was copied from there. It reports whether there was any.
func (w *world) learn(run *replay.Run, was []replay.Effect) (any bool) {
	for i := range run.Effects {
		e := &run.Effects[i]
		if e.Kind != replay.Bulk || e.From == 0 {
			continue
		}
		k := slices.IndexFunc(was, func(r replay.Effect) bool { return agrees(e, &r, false) })
		if k < 0 {
			continue
		}
		for j, b := range was[k].Data {
			if at := e.From + uint64(j); e.Data[j] != b {
				w.told[at], any = b, true
			}
		}
	}
	return any
}
