package bpf

import (
	"mgtrace/capture"
	"mgtrace/objfile"
	"mgtrace/probe"
)

// unwinder unwinds through the files of a plan as they are mapped.
func unwinder(plan *probe.Plan, pid int, maps []mapping) capture.Unwinder {
	images := make([]*image, len(plan.Images))
	for i, im := range plan.Images {
		images[i], _ = findImage(pid, im.Path, maps)
	}
	return capture.CFI(func(pc uint64) (*objfile.File, uint64, bool) {
		for i, im := range images {
			if im == nil {
				continue
			}
			for _, m := range im.maps {
				if m.exec && m.lo <= pc && pc < m.hi {
					return plan.Images[i].File, im.bias, true
				}
			}
		}
		return nil, 0, false
	}, 16).Unwind
}
