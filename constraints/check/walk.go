package check

// Walk calls f for every expression of the specification, those inside others
// included.
func Walk(s *Spec, f func(Expr)) {
	w := walker{f}
	for _, t := range s.Types {
		for i := range t.Edges {
			for _, u := range t.Edges[i].Used {
				w.all(u.Lo, u.Hi, u.Cond)
			}
			if f := t.Edges[i].Fills; f != nil {
				w.all(f.Lo, f.Hi, f.Cond)
			}
		}
	}
	for _, a := range s.Attributes {
		for i := range a.Rules {
			w.all(a.Rules[i].Guard, a.Rules[i].Value, a.Rules[i].Else)
		}
	}
	for _, c := range s.Constraints {
		c.Walk(f)
	}
	for i := range s.Nils {
		w.place(s.Nils[i].Place)
	}
	for i := range s.Members {
		w.all(s.Members[i].Cond)
	}
	for i := range s.Roots {
		w.place(s.Roots[i].Place)
	}
}

// WalkGuards calls f for every expression of the conditions under which the specification asks for something, or counts it.
func WalkGuards(s *Spec, f func(Expr)) {
	w := walker{f}
	for _, t := range s.Types {
		for i := range t.Edges {
			for _, u := range t.Edges[i].Used {
				w.all(u.Cond)
			}
			if f := t.Edges[i].Fills; f != nil {
				w.all(f.Cond)
			}
		}
	}
	for _, a := range s.Attributes {
		for i := range a.Rules {
			w.all(a.Rules[i].Guard)
		}
	}
	for _, c := range s.Constraints {
		w.all(c.Guard)
	}
	for i := range s.Members {
		w.all(s.Members[i].Cond)
	}
	Walk(s, func(e Expr) {
		switch e := e.(type) {
		case *Cond:
			w.all(e.C)
		case *Aggregate:
			w.all(e.Guard)
		}
	})
}

// Walk calls f for every expression of the constraint.
func (c *Constraint) Walk(f func(Expr)) {
	w := walker{f}
	w.all(c.Guard, c.Body)
	for i := range c.Loops {
		w.all(c.Loops[i].Lo, c.Loops[i].Hi, c.Loops[i].Guard)
	}
}

type walker struct{ f func(Expr) }

func (w walker) all(list ...Expr) {
	for _, e := range list {
		if e != nil {
			w.f(e)
			w.inside(e)
		}
	}
}

func (w walker) place(p *Place) {
	if p == nil {
		return
	}
	w.all(p.Base)
	for i := range p.Steps {
		w.all(p.Steps[i].I)
	}
}

func (w walker) inside(e Expr) {
	switch x := e.(type) {
	case *Load:
		w.place(&x.Place)
	case *FieldN:
		w.all(x.Base, x.N)
	case *AddrOf:
		w.place(&x.Place)
	case *Attr:
		w.all(x.Base)
	case *Degree:
		w.all(x.Base)
	case *Builtin:
		w.all(x.Base)
	case *Unary:
		w.all(x.X)
	case *Binary:
		w.all(x.X, x.Y)
	case *Cond:
		w.all(x.C, x.X, x.Y)
	case *Relation:
		w.all(x.From, x.To)
	case *Aggregate:
		w.all(x.Guard, x.Lo, x.Hi, x.Elem)
	}
}
