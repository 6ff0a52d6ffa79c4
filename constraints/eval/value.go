package eval

import (
	"math"

	"mgtrace/constraints/check"
	"mgtrace/constraints/graph"
	"mgtrace/mgpp"
)

// kind is what a value is.
type kind uint8

const (
	undefined kind = iota // see why
	integer               // bits; also truth: 0 and 1
	float                 // bits as math.Float64bits
	pointer               // bits: the address; NULL is the pointer 0
)

// why says why a value is undefined.
type why uint8

const (
	_             why = iota
	throughNull       // read through NULL
	throughDead       // read through a dangling pointer
	throughWild       // read through a pointer to nothing known
	notExpected       // read through a pointer to something else
	unwritten         // never written, or partly
	outsideArray      // index outside the array
	outsideBlock      // outside the allocation
	byZero            // division by zero
	overflow          // of 64-bit arithmetic, a shift or a conversion
	notANumber        // NaN
	staleCell         // an element that its condition excludes
	unusedElement     // of an array, outside of what a pointer to it says is in use
	inCycle           // an attribute that depends on itself
	noRule            // no rule of the attribute applies
	notScalar         // wider than a number
	elsewhere         // two pointers that lead into different blocks have no order
	beyond            // a pointer that leads out of the block of the other one, which is node
	noWhole           // what lies between two pointers is no whole number of elements
	tooDeep           // internal: the attribute's evaluation is suspended
)

// value is one of the language's values. Undefined ones say why, and where:
// src is the expression that is NULL, dangling, unwritten and so on, bits the address
// through which it was to be read, if nothing is known there, node the block that was expected or met.
type value struct {
	kind  kind
	why   why
	tgt   mgpp.TargetState // pointer: what it leads to
	wide  bool             // integer: unsigned beyond int64
	whole bool             // pointer: stands for the object itself
	bits  uint64
	obj   graph.ObjID // pointer: the object it leads into, 0 if none
	node  mgpp.NodeID // pointer: the block, likewise; of one that leads nowhere the block at whose end it stands
	src   check.Expr
}

// null is the pointer that NULL is, and that pointers to sentinels read as.
var null = value{kind: pointer, tgt: mgpp.Null}

func number(n int64) value             { return value{kind: integer, bits: uint64(n)} }
func real(f float64) value             { return value{kind: float, bits: math.Float64bits(f)} }
func undef(w why, at check.Expr) value { return value{kind: undefined, why: w, src: at} }

func truth(b bool) value {
	if b {
		return value{kind: integer, bits: 1}
	}
	return value{kind: integer}
}

func (v value) defined() bool { return v.kind != undefined }
func (v value) isNull() bool  { return v.kind == pointer && v.tgt == mgpp.Null }
func (v value) int() int64    { return int64(v.bits) }

// float returns a number as floating point.
func (v value) float() float64 {
	switch {
	case v.kind == float:
		return math.Float64frombits(v.bits)
	case v.wide:
		return float64(v.bits)
	}
	return float64(int64(v.bits))
}

// tri is a truth value.
type tri uint8

const (
	no tri = iota
	yes
	unknown
)

// tri reads a value as a condition.
func (v value) tri() tri {
	switch {
	case v.kind == undefined:
		return unknown
	case v.kind == pointer && v.tgt != mgpp.Null || v.kind != pointer && v.bits != 0:
		return yes
	}
	return no
}

// same reports whether two values are the same, of undefined ones the reasons and what they lead to
// included.
func (v value) same(w value) bool {
	if v.kind == undefined {
		return w.kind == undefined && v.why == w.why && v.src == w.src && v.bits == w.bits && v.node == w.node
	}
	return v.kind == w.kind && v.bits == w.bits && v.tgt == w.tgt && v.obj == w.obj && v.node == w.node
}

// arithmetic computes x op y on defined numbers. unsigned: both are.
func arithmetic(op string, x, y value, unsigned bool, at check.Expr) value {
	if x.kind == float || y.kind == float {
		return floats(op, x.float(), y.float(), at)
	}
	a, b := x.int(), y.int()
	if unsigned {
		return unsigneds(op, x.bits, y.bits, at)
	}
	switch op {
	case "+":
		if s := a + b; (s > a) == (b > 0) {
			return number(s)
		}
	case "-":
		if d := a - b; (d < a) == (b > 0) {
			return number(d)
		}
	case "*":
		if p := a * b; a == 0 || p/a == b && !(a == -1 && b == math.MinInt64) {
			return number(p)
		}
	case "/", "%":
		if b == 0 {
			return undef(byZero, at)
		}
		if a == math.MinInt64 && b == -1 {
			break
		}
		if op == "/" {
			return number(a / b)
		}
		return number(a % b)
	default:
		return bitwise(op, x, y, false, at)
	}
	return undef(overflow, at)
}

func unsigneds(op string, a, b uint64, at check.Expr) value {
	n := func(u uint64) value { return value{kind: integer, bits: u, wide: u > math.MaxInt64} }
	switch op {
	case "+":
		if a+b >= a {
			return n(a + b)
		}
	case "-":
		if a >= b {
			return n(a - b)
		}
		if b-a <= math.MaxInt64 { // a difference may be negative
			return number(-int64(b - a))
		}
	case "*":
		if a == 0 || a*b/a == b {
			return n(a * b)
		}
	case "/", "%":
		if b == 0 {
			return undef(byZero, at)
		}
		if op == "/" {
			return n(a / b)
		}
		return n(a % b)
	default:
		return bitwise(op, value{bits: a}, value{bits: b}, true, at)
	}
	return undef(overflow, at)
}

func bitwise(op string, x, y value, unsigned bool, at check.Expr) value {
	r := value{kind: integer, wide: unsigned}
	switch op {
	case "&":
		r.bits = x.bits & y.bits
	case "|":
		r.bits = x.bits | y.bits
	case "^":
		r.bits = x.bits ^ y.bits
	case "<<", ">>":
		if y.bits > 63 {
			return undef(overflow, at)
		}
		switch {
		case op == "<<":
			r.bits = x.bits << y.bits
			if !unsigned && int64(r.bits)>>y.bits != x.int() {
				return undef(overflow, at)
			}
		case unsigned:
			r.bits = x.bits >> y.bits
		default:
			r.bits = uint64(x.int() >> y.bits)
		}
	default:
		return undef(notScalar, at)
	}
	r.wide = unsigned && r.bits > math.MaxInt64
	return r
}

func floats(op string, a, b float64, at check.Expr) value {
	var f float64
	switch op {
	case "+":
		f = a + b
	case "-":
		f = a - b
	case "*":
		f = a * b
	case "/":
		if b == 0 {
			return undef(byZero, at)
		}
		f = a / b
	case "%":
		if b == 0 {
			return undef(byZero, at)
		}
		f = math.Mod(a, b)
	default:
		return undef(notScalar, at)
	}
	if math.IsNaN(f) {
		return undef(notANumber, at)
	}
	return real(f)
}

// compareNumbers compares defined numbers: -1, 0, 1.
func compareNumbers(x, y value, unsigned bool) int {
	switch {
	case x.kind == float || y.kind == float:
		return compare(x.float(), y.float())
	case unsigned:
		return compare(x.bits, y.bits)
	case x.wide != y.wide: // beyond int64 is above everything signed
		if x.wide {
			return 1
		}
		return -1
	case x.wide:
		return compare(x.bits, y.bits)
	}
	return compare(x.int(), y.int())
}

func compare[T int64 | uint64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func holds(op string, c int) bool {
	switch op {
	case "==":
		return c == 0
	case "!=":
		return c != 0
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	}
	return c >= 0
}
