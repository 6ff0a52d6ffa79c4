package faultloc

// summands doubts repairs by which a new node would count for nothing, where a sum lacks just what it holds: what counts it in did not
// do so, and would have counted whatever it holds.
func summands(in Input, suspects []Suspect) {
	for i := range suspects {
		for _, e := range suspects[i].Evidence {
			if e.Kind != Outdated || e.Named || !e.explains() || len(e.Mends.Others) > 0 {
				continue
			}
			for k := range suspects {
				if suspects[k].leavesOut(in, e.Mends) {
					suspects[k].doubtSummand(in)
				}
			}
		}
	}
}

// leavesOut: the repair of a suspect sets a number of a node to 0 that is new since the last healthy C-point, and the sum's would add as
// much as it holds.
func (s *Suspect) leavesOut(in Input, sum *Repair) bool {
	r := s.Repair
	return r != nil && r != sum && !r.Cell.Pointer && r.Value == 0 && in.Cells.Object(r.Cell.Obj).Birth > in.Healthy &&
		r.differs(in) != 0 && r.differs(in) == -sum.differs(in)
}

// doubtSummand doubts that repair, and that all would be well without the store that it is about, which is the same in cleared memory.
func (s *Suspect) doubtSummand(in Input) {
	own := in.History.Op(s.Operation).Addr == s.Repair.Cell.Addr
	for k := range s.Evidence {
		if e := &s.Evidence[k]; e.Kind == RepairCell || e.Kind == Counterfactual && own {
			e.Summand = true
		}
	}
}
