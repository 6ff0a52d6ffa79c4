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
	code []patch.Code // its executable mappings, by address
	data [][2]uint64  // its writable segments, with their .bss
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
			if out.bias, found = im.File.Bias(m.Lo, m.Offset, m.Size()); !found {
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
			return im.File.Bias(m.Lo, m.Offset, m.Size())
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

// at returns the bytes of the image from an address of the process on.
func (im *image) at(addr uint64) []byte {
	for i := range im.code {
		if off := addr - im.code[i].Addr; off < uint64(len(im.code[i].Bytes)) {
			return im.code[i].Bytes[off:]
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
