package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// tally counts runs.
type tally struct {
	runs, found, named, first int
	own                       int     // first by the line of the suspect itself
	examined                  float64 // sum of ranks, of those named
	reported                  int
	millis                    []float64
}

func (t *tally) add(r *run) {
	t.runs++
	if !r.Found {
		return
	}
	t.found++
	t.reported += r.Reported
	if !r.Memory {
		t.millis = append(t.millis, r.Millis)
	}
	if r.Rank > 0 {
		t.named++
		t.examined += float64(r.Rank)
	}
	if r.Rank == 1 {
		t.first++
	}
	if r.Own == 1 {
		t.own++
	}
}

// row is "found, named, first, by its own line, examined, reported, median and worst time".
func (t *tally) row() string {
	slices.Sort(t.millis)
	median, worst := "-", "-"
	if n := len(t.millis); n > 0 {
		median, worst = fmt.Sprintf("%.0f", t.millis[n/2]), fmt.Sprintf("%.0f", t.millis[n-1])
	}
	return fmt.Sprintf("%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s", t.runs, t.found, t.named, share(t.first, t.found), share(t.own, t.found),
		ratio(t.examined, t.named), ratio(float64(t.reported), t.found), median+"\t"+worst)
}

func share(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(of))
}

func ratio(x float64, n int) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", x/float64(n))
}

const heads = "mutants\tfound\tnamed\tfirst\town line\texamined\treported\tms\tworst ms"

// print writes the tables.
func (c *campaign) print(w io.Writer, outcomes []*outcome) {
	fmt.Fprintf(w, "seed %d, %d keys, then %d operations", c.Seed, c.Base, c.Operations)
	if len(c.Without) > 0 {
		fmt.Fprintf(w, ", without %s", strings.Join(c.Without, ", "))
	}
	fmt.Fprintln(w)
	for _, level := range c.Levels {
		for _, points := range c.points() {
			fmt.Fprintf(w, "\n%s, C-points: %s\n\n", level, points)
			byProgram(w, outcomes, level, points)
		}
	}
	fmt.Fprintf(w, "\nBy kind, C-points: %s\n\n", atFunctions)
	grouped(w, outcomes, "kind", func(t *trial) string { return t.Mutant.Kind })
	fmt.Fprintf(w, "\nBy when it errs, C-points: %s\n\n", atFunctions)
	grouped(w, outcomes, "errs", func(t *trial) string { return t.Mutant.When })
	if c.coverage {
		fmt.Fprintf(w, "\nStatements to examine, -O0\n\n")
		compared(w, outcomes)
	}
	if c.slicing {
		fmt.Fprintf(w, "\nSlices of mutants that die, -O0\n\n")
		printSlices(w, outcomes)
	}
	refusals(w, outcomes)
	misses(w, outcomes)
}

// refusals counts why calls could not be executed again.
func refusals(w io.Writer, outcomes []*outcome) {
	why := map[string]int{}
	for _, o := range outcomes {
		for _, x := range o.Trials {
			for _, r := range x.Runs {
				if r.Found && r.Refused != "" {
					why[r.Refused]++
				}
			}
		}
	}
	if len(why) == 0 {
		return
	}
	fmt.Fprintf(w, "\nCalls that could not be executed again\n\n")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, k := range slices.SortedFunc(maps.Keys(why), func(a, b string) int { return cmp.Or(cmp.Compare(why[b], why[a]), cmp.Compare(a, b)) }) {
		fmt.Fprintf(t, "%d\t  %s\n", why[k], k)
	}
	t.Flush()
}

func byProgram(w io.Writer, outcomes []*outcome, level, points string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "program\tlines\t%s\t\n", heads)
	var sum tally
	lines := 0
	for _, o := range outcomes {
		var one tally
		for _, x := range o.Trials {
			for i := range x.Runs {
				if r := &x.Runs[i]; r.Level == level && r.Points == points {
					one.add(r)
					sum.add(r)
				}
			}
		}
		lines += o.Lines
		fmt.Fprintf(t, "%s\t%d\t%s\t\n", o.Program, o.Lines, one.row())
	}
	fmt.Fprintf(t, "all\t%d\t%s\t\n", lines, sum.row())
	t.Flush()
}

func grouped(w io.Writer, outcomes []*outcome, name string, key func(*trial) string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s\t%s\t\n", name, heads)
	groups := map[string]*tally{}
	for _, o := range outcomes {
		for _, x := range o.Trials {
			g := groups[key(x)]
			if g == nil {
				g = &tally{}
				groups[key(x)] = g
			}
			for i := range x.Runs {
				if x.Runs[i].Points == atFunctions {
					g.add(&x.Runs[i])
				}
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(t, "%s\t%s\t\n", k, groups[k].row())
	}
	t.Flush()
}

// compared sets the ranks beside those by coverage, over the mutants that each names.
func compared(w io.Writer, outcomes []*outcome) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "program\tmgtrace\tat the end only\tTarantula\tOchiai\tnamed by coverage\tnot compiling\tbreaking nothing\treading only\t\n")
	mean := func(xs []float64) string {
		sum := 0.0
		for _, x := range xs {
			sum += x
		}
		return ratio(sum, len(xs))
	}
	for _, o := range outcomes {
		var ours, end, tarantula, ochiai []float64
		for _, x := range o.Trials {
			for _, r := range x.Runs {
				switch {
				case r.Level != "-O0" || r.Rank == 0 || r.Points == atCrash:
				case r.Points == atEnd:
					end = append(end, float64(r.Rank))
				default:
					ours = append(ours, float64(r.Rank))
				}
			}
			if x.Tarantula > 0 {
				tarantula, ochiai = append(tarantula, x.Tarantula), append(ochiai, x.Ochiai)
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%d of %d\t%d\t%d\t%d\t\n", o.Program, mean(ours), mean(end), mean(tarantula), mean(ochiai),
			len(tarantula), len(o.Trials), o.Refused, o.Harmless, o.Memory)
	}
	t.Flush()
}

// misses explains, one by one, where the true statement was not named, by class.
func misses(w io.Writer, outcomes []*outcome) {
	type miss struct{ class, text string }
	var all []miss
	for _, o := range outcomes {
		for _, x := range o.Trials {
			for _, r := range x.Runs {
				if r.Rank > 0 {
					continue
				}
				all = append(all, miss{r.Miss, fmt.Sprintf("%s %d %s, %s: %s (%s), %s:%d %q → %q; judge: %s; reported: %s",
					o.Program, x.Number, r.Level, r.Points, x.Mutant.Kind, x.Mutant.When, x.Mutant.Function, x.Mutant.Line, x.Mutant.Was, x.Mutant.Is,
					strings.Trim(x.Judge.How+", "+x.Judge.Memory, ", "), strings.Join(r.Suspects, ", "))})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b miss) int { return cmp.Compare(a.class, b.class) })
	last := ""
	for _, m := range all {
		if m.class != last {
			fmt.Fprintf(w, "\nNot named: %s\n\n", m.class)
			last = m.class
		}
		fmt.Fprintf(w, "  %s\n", m.text)
	}
}
