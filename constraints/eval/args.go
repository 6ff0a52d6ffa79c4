package eval

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
	"mgtrace/trace"
)

// maxWitnesses bounds the candidates of existential variables whose operands
// are arguments.
const maxWitnesses = 64

// args returns the operands of the constraint under the current frame, in
// order: those of the guard, of the loops' bounds, of the body. Operands of
// existential variables are there for each candidate that the body relates to
// what is bound.
func (e *env) args(k *info) []Arg {
	var out []Arg
	out = e.operands(k.Guard, "", out)
	for i := range k.Loops {
		out = e.operands(k.Loops[i].Lo, "", out)
		out = e.operands(k.Loops[i].Hi, "", out)
	}
	if k.Universal == len(k.Vars) {
		return e.operands(k.Body, "", out)
	}
	out = e.readyOperands(k.Body, out)
	n, found := 0, "none"
	e.witness(k, func() bool {
		n++
		name := e.witnessName(k)
		if n <= maxWitnesses {
			out = e.operands(k.Body, name+": ", out)
		}
		if e.eval(k.Body).tri() == yes && found == "none" {
			found = name
		}
		return n < maxWitnesses || found == "none"
	})
	return append(out, Arg{Text: k.Body.Text(), Value: found})
}

// witnessName says which existential variables are bound to what.
func (e *env) witnessName(k *info) string {
	var s []string
	for i := k.Universal; i < len(k.Vars); i++ {
		s = append(s, k.Vars[i].Name+"="+e.g.Name(e.vars[i]))
	}
	return strings.Join(s, ", ")
}

// readyOperands appends the operands of x that use only what is bound.
func (e *env) readyOperands(x check.Expr, out []Arg) []Arg {
	e.eachOperand(x, func(y check.Expr) {
		if e.ready(y, -1) {
			out = append(out, Arg{Text: operandText(y), Value: e.operand(y)})
		}
	})
	return out
}

// operands appends the operands of x with their values.
func (e *env) operands(x check.Expr, prefix string, out []Arg) []Arg {
	if x == nil {
		return out
	}
	e.eachOperand(x, func(y check.Expr) {
		out = append(out, Arg{Text: prefix + operandText(y), Value: e.operand(y)})
	})
	return out
}

// operand writes an operand's value.
func (e *env) operand(x check.Expr) string {
	if b, ok := x.(*check.Binary); ok {
		return e.distance(b)
	}
	v := e.eval(x)
	b, isBuiltin := x.(*check.Builtin)
	if _, isRelation := x.(*check.Relation); isRelation || isBuiltin && b.Kind == check.BuiltinExists {
		if v.defined() {
			return strconv.FormatBool(v.tri() == yes)
		}
	}
	if l, ok := x.(*check.Load); ok && v.kind == integer && l.Type != nil {
		for _, n := range l.Type.Enumerators {
			if n.Value == v.int() {
				return n.Name
			}
		}
	}
	return e.text(v)
}

// eachOperand calls f for the operands of x as written: fields, degrees,
// attributes, relations, differences of pointers (an order is one, too); not for what
// connects them, nor for constants and the bound nodes themselves.
func (e *env) eachOperand(x check.Expr, f func(check.Expr)) {
	switch x := x.(type) {
	case *check.Unary:
		e.eachOperand(x.X, f)
	case *check.Binary:
		if x.Elem > 0 { // where both lie says less than how far they are from each other
			f(x)
			return
		}
		e.eachOperand(x.X, f)
		e.eachOperand(x.Y, f)
	case *check.Cond:
		e.eachOperand(x.C, f)
		e.eachOperand(x.X, f)
		e.eachOperand(x.Y, f)
	case *check.Load, *check.FieldN, *check.AddrOf, *check.Attr, *check.Degree, *check.Builtin, *check.Relation, *check.Aggregate:
		f(x)
	}
}

// text writes a value in canonical form: equal texts are equal values.
func (e *env) text(v value) string {
	switch v.kind {
	case undefined:
		return undefinedText + e.because(v)
	case integer:
		if v.wide {
			return strconv.FormatUint(v.bits, 10)
		}
		return strconv.FormatInt(v.int(), 10)
	case float:
		return strconv.FormatFloat(v.float(), 'g', -1, 64)
	}
	return e.reference(v)
}

// reference writes a pointer.
func (e *env) reference(v value) string {
	switch {
	case v.isNull():
		return "NULL"
	case v.obj != 0:
		s := e.g.Name(v.obj)
		if off := v.bits - uint64(e.g.Object(v.obj).Addr); off != 0 {
			s += "+" + strconv.FormatUint(off, 10)
		}
		return s
	case v.tgt == mgpp.Dangling:
		return fmt.Sprintf("dangling 0x%x (%s)", v.bits, e.formerly(v))
	case e.ended(v) != 0:
		return fmt.Sprintf("dangling 0x%x (%s is destroyed)", v.bits, e.g.Name(e.ended(v)))
	case v.tgt == mgpp.Points:
		return fmt.Sprintf("0x%x (no node)", v.bits)
	case v.node != 0:
		return fmt.Sprintf("0x%x (%s)", v.bits, e.standing(v))
	}
	if f := e.g.Entry(trace.Addr(v.bits)); f != "" {
		return fmt.Sprintf("0x%x (function %s)", v.bits, f)
	}
	return fmt.Sprintf("0x%x (points nowhere)", v.bits)
}

// formerly names what a dangling pointer led to.
func (e *env) formerly(v value) string {
	if o := e.g.FormerAt(v.node, v.bits); o != 0 {
		return e.g.Name(o) + " is freed"
	}
	return "freed memory"
}

// because says why a value is undefined.
func (e *env) because(v value) string {
	src := ""
	if v.src != nil {
		src = v.src.Text()
	}
	switch v.why {
	case throughNull:
		return src + " is NULL"
	case throughDead:
		return src + " is dangling"
	case throughWild:
		return src + " points to nothing known"
	case notExpected:
		return src + " does not lead to a node of that type"
	case unwritten:
		return src + " was never written"
	case outsideArray:
		return src + ": the index is outside the array"
	case outsideBlock:
		return src + " lies outside the allocation"
	case byZero:
		return src + ": division by zero"
	case overflow:
		return src + ": overflow"
	case notANumber:
		return src + " is not a number"
	case staleCell, unusedElement:
		return src + " is not in use"
	case inCycle:
		return "it depends on itself"
	case notScalar:
		return src + " is no number"
	case elsewhere:
		b := v.src.(*check.Binary)
		return fmt.Sprintf("%s and %s lead into two different blocks", b.X.Text(), b.Y.Text())
	case beyond:
		return src + " lies " + e.beyondText(v)
	case noWhole:
		return src + " is no whole number of elements"
	}
	return "no rule applies"
}

// setText writes a set of nodes so that equal sets, and only these, are equal.
func (e *env) setText(nodes []graph.ObjID) string {
	nodes = slices.Clone(nodes)
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	h := fnv.New64a()
	for _, o := range nodes {
		h.Write([]byte{byte(o), byte(o >> 8), byte(o >> 16), byte(o >> 24)})
	}
	return fmt.Sprintf("%s [%d, %016x]", e.names(nodes), len(nodes), h.Sum64())
}

// maxShown bounds the operands that a reason shows.
const maxShown = 6

// reason says why the current frame is an inconsistency. It says nothing that
// the arguments do not: that keeps it true while they stay.
func (e *env) reason(k *info, whole bool) string {
	if !whole {
		room := int64(maxTerms)
		for i := range k.Loops {
			l := &k.Loops[i]
			for _, x := range [2]check.Expr{l.Lo, l.Hi} {
				if v := e.eval(x); !v.defined() {
					return fmt.Sprintf("%s is undefined: %s", x.Text(), e.because(v))
				}
			}
			_, _, left, ok := e.bounds(l, room)
			if !ok {
				return fmt.Sprintf("%s is %s: a range of so many indices (more than %d) is taken as undefined", l.Hi.Text(), e.text(e.eval(l.Hi)), room)
			}
			room = left
		}
	}
	if k.Universal < len(k.Vars) {
		return e.missing(k)
	}
	return e.failing(k.Body)
}

// missing explains that there is no witness.
func (e *env) missing(k *info) string {
	var names []string
	for _, v := range k.Vars[k.Universal:] {
		names = append(names, v.Type.Name+" "+v.Name)
	}
	s := fmt.Sprintf("there is no %s with %s", strings.Join(names, ", "), k.Body.Text())
	if args := e.readyOperands(k.Body, nil); len(args) > 0 {
		s += ": " + joinArgs(args)
	}
	return s
}

// failing explains why a body does not hold: the first part that is not true.
func (e *env) failing(x check.Expr) string {
	if b, ok := x.(*check.Binary); ok && b.Op == "and" {
		if e.eval(b.X).tri() != yes {
			return e.failing(b.X)
		}
		return e.failing(b.Y)
	}
	args := e.operands(x, "", nil)
	if v := e.eval(x); v.kind == undefined {
		for _, a := range args {
			if a.Undefined() {
				return fmt.Sprintf("%s is %s", a.Text, a.Value)
			}
		}
		return fmt.Sprintf("%s is undefined: %s", x.Text(), e.because(v))
	}
	if r, ok := x.(*check.Relation); ok {
		return relationText(r)
	}
	if len(args) == 0 {
		return x.Text() + " does not hold"
	}
	return joinArgs(args)
}

// relationText says what is there, or missing.
func relationText(r *check.Relation) string {
	what := "edge"
	if r.Path {
		what = "path"
	}
	if r.Not {
		return fmt.Sprintf("there is %s %s from %s to %s", article(what), what, r.From.Text(), r.To.Text())
	}
	return fmt.Sprintf("there is no %s from %s to %s", what, r.From.Text(), r.To.Text())
}

func article(s string) string {
	if s == "edge" {
		return "an"
	}
	return "a"
}

func joinArgs(args []Arg) string {
	var s []string
	for _, a := range args {
		if t := a.Text + " is " + a.Value; !slices.Contains(s, t) {
			s = append(s, t)
		}
	}
	if len(s) > maxShown {
		s = append(s[:maxShown], "…")
	}
	return strings.Join(s, ", ")
}

// danglingReason names the first dangling cell of o.
func (e *env) danglingReason(o graph.ObjID) string {
	reason := "a pointer dangles"
	e.eachDangling(o, func(c *check.EdgeCell, k int64, p value) bool {
		reason = fmt.Sprintf("%s.%s is %s", e.g.Name(o), cellName(c, k), e.reference(p))
		return false
	})
	return reason
}
