package mine

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"mgtrace/constraints/eval"
)

// Fact is something that held, with how often.
type Fact struct {
	Label string `json:"label"`
	Type  string `json:"type"`
	Text  string `json:"constraint"` // a statement of the language
	Words string `json:"words"`
	// Held and Broken count instances whose guard held, at the moments that were
	// looked at whole; Views are the moments among them with any instance.
	Held        int `json:"held"`
	Broken      int `json:"broken"`
	Views       int `json:"moments"`
	BrokenViews int `json:"broken_moments"`
	// CPoints are the moments at which the fact was checked at the proposed
	// C-points, CPointsBroken those at which it failed.
	CPoints       int `json:"cpoints"`
	CPointsBroken int `json:"cpoints_broken"`
	// Distinct counts instances of different nodes, and of comparisons those with
	// different values; at most 256 are told apart.
	Distinct int `json:"distinct"`
	// Chance is how likely it is that the values held by chance, if they had nothing
	// to do with each other; 0 where that is no question.
	Chance float64 `json:"chance"`
	// Stated: it is a statement of the specification; else a comment, and Why says
	// why.
	Stated bool   `json:"stated"`
	Why    string `json:"why,omitempty"`
}

// untrue: it failed at too many of the moments that were looked at. A fact may fail at every other one: where a function begins that
// links a node. That two numbers are equal, or in order, at some moments is soon an accident.
func (c *candidate) untrue() bool {
	return c.Held == 0 || 4*c.BrokenViews > 3*c.Views || c.holds != nil && 2*c.BrokenViews > c.Views
}

// sample keeps an instance: the nodes that are bound, and of a comparison the
// operands.
func (c *candidate) sample(i eval.Instance, args []eval.Arg) {
	var a, b, by, other float64
	found, enough := 0, 3
	if c.other != "" {
		enough |= 4
	}
	for _, x := range args {
		if c.holds == nil && c.distance == "" {
			break
		}
		v, ok := number(x.Value)
		switch {
		case !ok:
		case c.modulo != nil && x.Text == c.modulo.text:
			by = v
		case c.distance != "" && x.Text == c.distance:
			a, found = v, 3
		case x.Text == c.left && found&1 == 0:
			a, found = v, found|1
		case x.Text == c.right && found&2 == 0:
			b, found = v, found|2
		case x.Text == c.other:
			other, found = v, found|4
		}
	}
	if c.seen == nil {
		c.seen, c.pairs = map[eval.Instance]bool{}, map[pair]bool{}
	}
	c.seen[i] = true
	if c.other != "" {
		b = c.join(b, other)
	}
	if c.apart && a == b {
		return
	}
	p := pair{of: i, values: [2]float64{a, b}}
	if m := c.modulo; m != nil { // what two numbers are in other nodes as well is no further evidence
		p = pair{whole: p.values, values: [2]float64{math.Mod(a, by+m.more), math.Mod(b, by+m.more)}}
	}
	if found == enough {
		c.pairs[p] = true
	}
}

// number reads a value as an argument has it. The name of an enumerator becomes a
// number too, by which equal names can be told.
func number(s string) (float64, bool) {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v, true
	}
	if s == "" || s == "NULL" || s[0] >= '0' && s[0] <= '9' || len(s) > 64 {
		return 0, false
	}
	h := uint32(2166136261) // FNV-1a
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return -1e15 - float64(h), true
}

// maxChance is the probability of an accident that is accepted; that of Daikon's
// confidence limit of 0.99.
const maxChance = 0.01

// weigh works out how likely the evidence is an accident.
//
// A comparison is weighed with its own values: if a fraction q of all pairings of
// its left operands with its right ones satisfies it, n sightings that all do happen
// by chance with probability q^n. Constants, and ranges that do not overlap, have
// q = 1 and prove nothing. A node that keeps its values is one sighting.
//
// Of an order of neighbours in an array only steps count, each once by its values: one that is filled with two values has one step, wherever
// that is, though hundreds of neighbours are alike.
//
// Of an order of two pointers half of all distances would do.
//
// Where one pointer is NULL only if another is, q is the fraction of nodes in which the other is NULL.
func (c *candidate) weigh() {
	c.Distinct = len(c.seen)
	if c.seen == nil {
		c.Distinct = min(c.Held, maxSamples) // no cycles: of nodes
	}
	if c.placed {
		c.Distinct = 0
		for i := range c.seen {
			if i.Index[0] > 0 {
				c.Distinct++
			}
		}
	}
	if c.share > 0 {
		c.odds, c.Chance = c.share, math.Pow(c.share, float64(c.Distinct))
	}
	if c.distance != "" {
		lengths := map[float64]bool{}
		for p := range c.pairs {
			lengths[p.values[0]] = true
		}
		c.Distinct, c.Chance = len(lengths), math.Pow(0.5, float64(len(lengths)))
	}
	if c.holds == nil {
		return
	}
	if c.steps {
		c.pairs = stepsOf(c.pairs)
	}
	c.weak = c.weak && !(c.tight && mostlyEqual(c.pairs))
	if c.made != nil {
		maps.DeleteFunc(c.pairs, func(p pair, _ bool) bool {
			lo, hi := min(p.values[0], p.values[1]), max(p.values[0], p.values[1])
			return !slices.ContainsFunc(c.made, func(v int64) bool { return lo < float64(v) && float64(v) < hi })
		})
	}
	good, all := 0, 0
	different := map[[2]float64]bool{}
	for p := range c.pairs {
		different[p.values] = true
		for r := range c.pairs {
			if all++; c.holds(p.values[0], r.values[1]) {
				good++
			}
		}
	}
	c.Distinct, c.Chance, c.odds = len(different), 1, 1
	if all > 0 {
		c.odds = float64(good) / float64(all)
		c.Chance = math.Pow(c.odds, float64(len(c.pairs)))
	}
}

// mostlyEqual: so are the operands of half of the sightings at least, with several values.
func mostlyEqual(pairs map[pair]bool) bool {
	equal, values := 0, map[float64]bool{}
	for p := range pairs {
		if p.values[0] == p.values[1] {
			equal++
			values[p.values[0]] = true
		}
	}
	return equal >= minEqual && 2*equal >= len(pairs) && len(values) > 1
}

const minEqual = 8

// stepsOf are the sightings of two values that differ, each once.
func stepsOf(pairs map[pair]bool) map[pair]bool {
	steps := map[pair]bool{}
	for p := range pairs {
		if p.values[0] != p.values[1] {
			steps[pair{values: p.values}] = true
		}
	}
	return steps
}

// modulus is what both operands of a comparison are taken modulo: an operand, "" if it is none, and more.
type modulus struct {
	text string
	more float64
}

// pair is a sighting of a comparison: the values of its operands for some nodes.
type pair struct {
	of     eval.Instance
	values [2]float64
	whole  [2]float64 // what these are the remainders of
}

// unequal: that no two numbers in order are alike may be an accident, since others of them are, and so few that none might have met.
func (c *candidate) unequal() bool {
	return c.alike > 0 && math.Pow(1-c.alike, float64(len(c.pairs))) > maxChance
}

// justified says whether the evidence is enough, and else what it lacks.
func (c *candidate) justified() (bool, string) {
	switch {
	case c.Held == 0:
		return false, "never applied"
	case c.placed && c.Distinct == 0:
		return false, "seen on first elements only"
	case c.Distinct < c.need:
		return false, "seen on " + plural(c.Distinct, "instance", "different instances") + " only"
	case c.Views < c.states:
		return false, "seen in " + plural(c.Views, "state", "states") + " only"
	case c.Chance > maxChance:
		return false, "its values could do that by chance"
	}
	return true, ""
}

// loose says that a fact is about what numbers happen to be: bounds, values, and comparisons
// that many other values satisfy as well.
func (c *candidate) loose() bool { return c.weak || c.number || c.odds > manySatisfy }

// manySatisfy is the share of random pairings from which on a comparison says little.
const manySatisfy = 0.3

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
