package probe

// Unwanted returns static data of the process, given as half-open ranges of
// addresses, without the globals of the plan: stores there are not wanted. bias is
// that of the program.
func (p *Plan) Unwanted(data [][2]uint64, bias uint64) [][2]uint64 {
	for _, g := range p.Globals {
		if i := p.ImageOf(g.Path); i > 0 {
			lo := p.Images[i].Bias + g.Addr
			data = subtract(data, [2]uint64{lo, lo + g.Size})
			continue
		}
		data = subtract(data, [2]uint64{bias + g.Addr, bias + g.Addr + g.Size})
	}
	return data
}

// subtract removes cut from ranges.
func subtract(ranges [][2]uint64, cut [2]uint64) [][2]uint64 {
	var out [][2]uint64
	for _, r := range ranges {
		if cut[1] <= r[0] || r[1] <= cut[0] {
			out = append(out, r)
			continue
		}
		if r[0] < cut[0] {
			out = append(out, [2]uint64{r[0], cut[0]})
		}
		if cut[1] < r[1] {
			out = append(out, [2]uint64{cut[1], r[1]})
		}
	}
	return out
}
