package inline

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mgtrace/inline/patch"
	"mgtrace/probe"
	"mgtrace/target/mem"
	"mgtrace/x86"
)

// image is a file of the plan where the process has it mapped.
type image struct {
	*probe.Image
	bias uint64
	code []patch.Code  // its executable mappings, by address
	maps []mem.Map     // these mappings, as they are listed
	data [][2]uint64   // its writable segments, with their .bss
	kept []patch.Range // code that stays as it is: see keep
}

// locate finds an image among the mappings and reads its code as it is in
// memory. nil: it is not mapped (yet).
func locate(im *probe.Image, maps []mem.Map, memory mem.Memory) (*image, error) {
	out := &image{Image: im}
	var found bool
	for _, m := range maps {
		if !m.File() || m.Path != im.Path {
			continue
		}
		if !found {
			if out.bias, found = im.File.Bias(m.Lo, m.Offset, m.Size(), m.Exec); !found {
				continue
			}
		}
		if m.Exec {
			c := patch.Code{Addr: m.Lo, Bytes: make([]byte, m.Size())}
			n, err := memory.ReadMemory(c.Bytes, m.Lo)
			if n < len(c.Bytes) && n == 0 {
				return nil, fmt.Errorf("read the code of %s: %w", im.Path, err)
			}
			c.Bytes = c.Bytes[:n]
			out.code = append(out.code, c)
			out.maps = append(out.maps, m)
		}
	}
	if !found {
		return nil, nil
	}
	for _, s := range im.File.WritableSegments() {
		out.data = append(out.data, [2]uint64{out.bias + s[0], out.bias + s[1]})
	}
	ranges, _ := im.File.CodeRanges()
	out.functions(withFollowed(ranges, im.Followed))
	out.keep()
	return out, nil
}

// withFollowed adds what of the followed ranges lies outside of the others, which are sorted and
// disjoint, as the result is.
func withFollowed(ranges, followed [][2]uint64) [][2]uint64 {
	if len(followed) == 0 {
		return ranges
	}
	all := slices.Clone(ranges)
	end := uint64(0) // of what is covered
	k := 0
	for _, f := range slices.SortedFunc(slices.Values(followed), func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) }) {
		for lo := max(f[0], end); lo < f[1]; lo = end {
			for k < len(ranges) && ranges[k][1] <= lo {
				k++
			}
			hi := f[1]
			end = hi
			if k < len(ranges) && ranges[k][0] < hi {
				hi, end = ranges[k][0], ranges[k][1]
			}
			if lo < hi {
				all = append(all, [2]uint64{lo, hi})
			}
		}
	}
	slices.SortFunc(all, func(a, b [2]uint64) int { return cmp.Compare(a[0], b[0]) })
	return all
}

// imageAt finds a file among the mappings, with code.
func imageAt(im *probe.Image, maps []mem.Map) (bias uint64, ok bool) {
	for _, m := range maps {
		if m.Exec && m.Path == im.Path {
			return im.File.Bias(m.Lo, m.Offset, m.Size(), m.Exec)
		}
	}
	return 0, false
}

// functions divides the ranges that hold instructions among the mappings.
func (im *image) functions(ranges [][2]uint64) {
	for i := range im.code {
		c := &im.code[i]
		lo, hi := c.Addr, c.Addr+uint64(len(c.Bytes))
		for _, r := range ranges {
			a, b := max(r[0]+im.bias, lo), min(r[1]+im.bias, hi)
			if a < b {
				c.Funcs = append(c.Funcs, patch.Range{Lo: a, Hi: b})
			}
		}
	}
}

// signature is how many bytes before the place where an interrupted sequence goes on the
// kernel compares.
const signature = 4

// keep leaves critical sections of restartable sequences as they are: the kernel restarts a
// thread there by its program counter, which would be elsewhere in a trampoline. The
// instruction before is kept too: it tells the kernel of the section, which forgets it where
// the thread is interrupted outside.
func (im *image) keep() {
	for _, r := range im.File.Restartable() {
		for i := range im.code {
			c := &im.code[i]
			if lo, ok := before(c, r.Start+im.bias); ok {
				im.kept = append(im.kept, patch.Range{Lo: lo, Hi: r.End + im.bias})
			}
		}
		im.kept = append(im.kept, patch.Range{Lo: r.Abort + im.bias - signature, Hi: r.Abort + im.bias})
	}
	slices.SortFunc(im.kept, func(a, b patch.Range) int { return cmp.Compare(a.Lo, b.Lo) })
	for i := range im.code {
		c := &im.code[i]
		for _, k := range im.kept {
			c.Funcs = without(c.Funcs, k)
		}
	}
}

// before finds the function with an address, and there the instruction that ends at it; the
// address itself if there is none.
func before(c *patch.Code, addr uint64) (at uint64, ok bool) {
	for _, f := range c.Funcs {
		if f.Lo <= addr && addr < f.Hi {
			return lastBefore(c, f.Lo, addr), true
		}
	}
	return 0, false
}

// lastBefore is the address of the instruction before the one at addr, if decoding from lo on
// leads there.
func lastBefore(c *patch.Code, lo, addr uint64) uint64 {
	last := addr
	for pc := lo; pc < addr; {
		n, _, _, err := x86.Extent(c.Bytes[pc-c.Addr:], pc)
		if err != nil {
			n = 1 // data among the instructions
		}
		if pc+uint64(n) == addr {
			last = pc
		}
		pc += uint64(n)
	}
	return last
}

// without takes a range out of others, which are sorted and disjoint.
func without(ranges []patch.Range, out patch.Range) []patch.Range {
	var left []patch.Range
	for _, r := range ranges {
		if r.Hi <= out.Lo || out.Hi <= r.Lo {
			left = append(left, r)
			continue
		}
		if r.Lo < out.Lo {
			left = append(left, patch.Range{Lo: r.Lo, Hi: out.Lo})
		}
		if out.Hi < r.Hi {
			left = append(left, patch.Range{Lo: out.Hi, Hi: r.Hi})
		}
	}
	return left
}

// at returns the bytes of the image from an address of the process on, up to where code begins
// that is kept.
func (im *image) at(addr uint64) []byte {
	for i := range im.code {
		if off := addr - im.code[i].Addr; off < uint64(len(im.code[i].Bytes)) {
			b := im.code[i].Bytes[off:]
			for _, k := range im.kept {
				if k.Lo > addr {
					return b[:min(uint64(len(b)), k.Lo-addr)]
				}
			}
			return b
		}
	}
	return nil
}

// extent is where the executable mappings lie.
func (im *image) extent() (lo, hi uint64) {
	for i := range im.code {
		c := &im.code[i]
		if lo == 0 {
			lo = c.Addr
		}
		hi = max(hi, c.Addr+uint64(len(c.Bytes)))
	}
	return lo, hi
}

// entersKernel says whether the system calls of an image are recorded: those of
// what is traced, of the C library and of the dynamic linker. Other libraries
// call the C library.
func entersKernel(im *probe.Image, plan *probe.Plan, index int) bool {
	base := filepath.Base(im.Path)
	return im.Traced || strings.HasPrefix(base, "ld-") || strings.HasPrefix(base, "ld.so") ||
		slices.ContainsFunc(plan.Funcs, func(f probe.Func) bool { return f.Entry.Image == index })
}

var syscallCode = []byte{0x0f, 0x05}

// syscalls lists the SYSCALL instructions of an image. Only functions that hold
// its two bytes somewhere are decoded.
func (im *image) syscalls() []uint64 {
	var list []uint64
	for i := range im.code {
		c := &im.code[i]
		for _, r := range c.Funcs {
			code := c.Bytes[r.Lo-c.Addr : r.Hi-c.Addr]
			if !bytes.Contains(code, syscallCode) {
				continue
			}
			for off := 0; off < len(code); {
				in, err := x86.Decode(code[off:], r.Lo+uint64(off))
				if err != nil {
					off++
					continue
				}
				if in.Len == len(syscallCode) && bytes.HasPrefix(code[off:], syscallCode) {
					list = append(list, r.Lo+uint64(off))
				}
				off += in.Len
			}
		}
	}
	slices.SortFunc(list, cmp.Compare)
	return slices.Compact(list)
}

// unwanted is the static data of the images without the globals of the plan.
func unwanted(images []*image, plan *probe.Plan) [][2]uint64 {
	var data [][2]uint64
	for _, im := range images {
		if im != nil {
			data = append(data, im.data...)
		}
	}
	return plan.Unwanted(data, images[0].bias)
}
