package bpf

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"mgtrace/capture"
	"mgtrace/probe"
)

// Libraries of the plan that the program opens while it runs. The kernel puts their probes in when
// they are mapped; where that is, it tells by the file of each mapping with code (R_CODE).

// library is a file of the plan that was not mapped when recording began.
type library struct {
	image int    // in the plan
	ino   uint64 // of its file
	dev   uint32 // as the kernel writes a device, not as stat(2) does
	lo    uint64 // of its addresses in the process, and their end; both 0: it is not mapped
	hi    uint64
}

// awaited are the files of the plan that are not mapped.
func awaited(images []*image) (late []library, err error) {
	for i, im := range images {
		if len(im.maps) > 0 {
			continue
		}
		var st unix.Stat_t
		if err := unix.Stat(im.path, &st); err != nil {
			return nil, fmt.Errorf("%s: %w", im.path, err)
		}
		late = append(late, library{image: i, ino: st.Ino, dev: unix.Major(st.Dev)<<minorBits | unix.Minor(st.Dev)})
	}
	return late, nil
}

// minorBits: dev_t inside the kernel (include/linux/kdev_t.h, MINORBITS).
const minorBits = 20

// mapped notes that code of a file is mapped: codeMapped.
func (e *Engine) mapped(h *capture.Hit) {
	for i := range e.late {
		if l := &e.late[i]; l.ino == h.Base && l.dev == uint32(h.Index) {
			if bias, ok := e.plan.Images[l.image].File.Bias(h.Addr, h.Offset*pageSize, h.Size, true); ok {
				e.lies(l, bias)
			}
		}
	}
}

const pageSize = 4096

// lies notes where a library lies.
func (e *Engine) lies(l *library, bias uint64) {
	im := e.plan.Images[l.image]
	lo, hi := im.File.LoadRange()
	l.lo, l.hi = bias+lo, bias+hi
	im.Bias = bias
	if e.opts.Libraries != nil {
		im.Moved = e.opts.Libraries.Opened(l.image, bias)
	}
}

// unmapped notes that memory is not mapped any more: what came before is with the sink.
func (e *Engine) unmapped(addr, size uint64) {
	for i := range e.late {
		l := &e.late[i]
		if addr+size <= l.lo || l.hi <= addr {
			continue
		}
		l.lo, l.hi = 0, 0
		if e.opts.Libraries != nil {
			e.opts.Libraries.Closed(l.image)
		}
	}
}

// found: the first hit in a library tells as well where it lies. That is late: its functions may have been on stacks
// before. It is for file systems whose files have another number in the kernel than for stat(2).
func (e *Engine) found(h *capture.Hit) {
	var s probe.Site
	switch {
	case len(e.late) == 0:
		return
	case h.Op == capture.Store && uint(h.Index) < uint(len(e.plan.Stores)):
		s = e.plan.Stores[h.Index].Site
	case h.Op == capture.Stop && uint(h.Index) < uint(len(e.sites)):
		s = e.sites[h.Index].Site
	default:
		return
	}
	i := slices.IndexFunc(e.late, func(l library) bool { return l.image == s.Image })
	if i < 0 || e.late[i].lo <= h.PC && h.PC < e.late[i].hi {
		return
	}
	e.lies(&e.late[i], h.PC-s.Addr)
	e.warnings = append(e.warnings, fmt.Sprintf("%s was known only when its first probe was hit: what it did before that may have no names and its blocks no types, so that a report may be wrong; use --engine inline", e.plan.Images[s.Image].Path))
}

// Warnings tell what was noticed while the program ran. It is for when Run has returned.
func (e *Engine) Warnings() []string { return e.warnings }
