package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// A report is all that was measured, as -json writes it.
type report struct {
	Machine    string             `json:"machine"`
	Mgtrace    string             `json:"mgtrace"`
	Date       string             `json:"date"`
	Rounds     int                `json:"rounds"`
	LimitS     float64            `json:"limit_s"`
	Divided    int                `json:"divided"` // the work, by this; but for 1 start-up weighs too much
	Programs   []*row             `json:"programs"`
	Means      map[string]mean    `json:"means"`
	StartMs    map[string]float64 `json:"start_ms"`
	StartNotes map[string]string  `json:"start_notes,omitempty"`

	columns []column
}

// A row is one program.
type row struct {
	Program    string           `json:"program"`
	Command    string           `json:"command"`
	Native     []float64        `json:"native_s"`     // of each round
	NativeCPU  []float64        `json:"native_cpu_s"` // processor time
	NativeS    float64          `json:"native_median_s"`
	Stores     int64            `json:"stores,omitempty"`
	Bytes      int64            `json:"disk_bytes,omitempty"`
	NsStore    float64          `json:"ns_store,omitempty"`
	BytesStore float64          `json:"bytes_store,omitempty"`
	Cells      map[string]*cell `json:"columns"`
	Reason     string           `json:"reason,omitempty"` // why there are no numbers
}

// A cell is one program in one column.
type cell struct {
	Seconds []float64 `json:"s,omitempty"`
	Factors []float64 `json:"factors,omitempty"` // by the native time of the same round
	Factor  float64   `json:"factor,omitempty"`  // their median
	CPU     []float64 `json:"cpu_factors,omitempty"`
	CPUMid  float64   `json:"cpu_factor,omitempty"` // the same of processor time, program and tool together
	Over    bool      `json:"over,omitempty"`       // stopped at the limit: factor is a lower bound
	Reason  string    `json:"reason,omitempty"`     // why there is no factor
}

// A mean is the geometric mean of a column's factors.
type mean struct {
	Factor   float64 `json:"factor"`
	Programs int     `json:"programs"`
	Over     int     `json:"over,omitempty"`       // how many of them were stopped
	CPU      float64 `json:"cpu_factor,omitempty"` // of processor time, where none was
	Goal     float64 `json:"goal,omitempty"`
}

// add takes one run beside the native run of its round.
func (c *cell) add(o, native outcome) {
	switch {
	case errors.Is(o.err, errLimit):
		c.Over = true
		c.Seconds, c.Factors, c.CPU = nil, nil, nil // of other rounds: not comparable
	case o.err != nil:
		c.Reason = o.err.Error()
	case o.output != native.output:
		c.Reason = "prints something else than the native run"
	}
	if c.Reason != "" {
		c.Seconds, c.Factors, c.CPU = nil, nil, nil
		return
	}
	c.Seconds = append(c.Seconds, o.seconds)
	c.Factors = append(c.Factors, o.seconds/native.seconds)
	if !c.Over && native.cpu > 0 {
		c.CPU = append(c.CPU, o.cpu/native.cpu)
	}
}

// finish computes what follows from the measurements.
func (r *row) finish() {
	r.NativeS = median(r.Native)
	for _, c := range r.Cells {
		c.Factor, c.CPUMid = median(c.Factors), median(c.CPU)
	}
	if r.Stores == 0 {
		return
	}
	if all := r.Cells["everything"]; len(all.Seconds) > 0 && !all.Over {
		r.NsStore = (median(all.Seconds) - r.NativeS) * 1e9 / float64(r.Stores)
	}
	r.BytesStore = float64(r.Bytes) / float64(r.Stores)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Sorted(slices.Values(v))
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}

// means computes the last row.
func means(columns []column, rows []*row) map[string]mean {
	all := map[string]mean{}
	for _, col := range columns {
		m, logs, cpus, n := mean{Goal: col.goal}, 0.0, 0.0, 0
		for _, r := range rows {
			if c := r.Cells[col.name]; c != nil && c.Factor > 0 {
				logs += math.Log(c.Factor)
				m.Programs++
				if c.Over {
					m.Over++
				}
				if c.CPUMid > 0 {
					cpus += math.Log(c.CPUMid)
					n++
				}
			}
		}
		if n > 0 {
			m.CPU = math.Exp(cpus / float64(n))
		}
		if m.Programs > 0 {
			m.Factor = math.Exp(logs / float64(m.Programs))
			all[col.name] = m
		}
	}
	return all
}

// print writes the table and, below it, why cells are empty.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s\n%s, %s; median of %d rounds, limit %.0f s\n\n", r.Machine, r.Mgtrace, r.Date, r.Rounds, r.LimitS)
	if r.Divided > 1 {
		fmt.Fprintf(w, "the work is divided by %d: start-up weighs too much\n\n", r.Divided)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	line := func(cells ...string) { fmt.Fprintln(t, strings.Join(cells, "\t")+"\t") }
	head := []string{"", "native", "Mstores", "ns/store", "B/store"}
	for _, col := range r.columns {
		head = append(head, col.name)
	}
	line(head...)
	for _, row := range r.Programs {
		line(row.cells(r.columns)...)
	}
	last, goals := []string{"geometric mean", "", "", "", ""}, []string{"goal", "", "", "", ""}
	cpus := []string{"… of processor time", "", "", "", ""}
	for _, col := range r.columns {
		m, goal := r.Means[col.name], ""
		if col.goal > 0 {
			goal = "≤ " + times(col.goal)
		}
		cpu := ""
		if m.CPU > 0 {
			cpu = times(m.CPU)
		}
		last, goals, cpus = append(last, m.String()), append(goals, goal), append(cpus, cpu)
	}
	line(last...)
	line(cpus...)
	line(goals...)
	t.Flush()
	fmt.Fprintln(w)
	for _, name := range slices.Sorted(maps.Keys(r.StartMs)) {
		fmt.Fprintf(w, "start-up of a bash that does nothing, %s: %.0f ms over native\n", name, r.StartMs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.StartNotes)) {
		fmt.Fprintf(w, "start-up, %s: n/a: %s\n", name, r.StartNotes[name])
	}
	r.reasons(w)
}

func (r *row) cells(columns []column) []string {
	if len(r.Native) == 0 {
		return []string{r.Program, "n/a"}
	}
	line := []string{
		r.Program, fmt.Sprintf("%.2f s", r.NativeS),
		number(float64(r.Stores) / 1e6), number(r.NsStore), number(r.BytesStore),
	}
	for _, col := range columns {
		line = append(line, r.Cells[col.name].String())
	}
	return line
}

func (c *cell) String() string {
	switch {
	case c.Reason == errNoSpec.Error():
		return "-"
	case c.Factor == 0:
		return "n/a"
	case c.Over:
		return "> " + times(c.Factor)
	}
	return times(c.Factor)
}

func (m mean) String() string {
	if m.Programs == 0 {
		return ""
	}
	s := fmt.Sprintf("%s (%d)", times(m.Factor), m.Programs)
	if m.Over > 0 {
		s = "> " + s
	}
	return s
}

func times(f float64) string {
	if f < 10 {
		return fmt.Sprintf("%.2f×", f)
	}
	return fmt.Sprintf("%.0f×", f)
}

func number(f float64) string {
	if f == 0 {
		return "n/a"
	}
	return fmt.Sprintf("%.1f", f)
}

// reasons lists why cells are empty, programs with the same reason together.
func (r *report) reasons(w io.Writer) {
	for _, row := range r.Programs {
		if row.Reason != "" {
			fmt.Fprintf(w, "n/a %s: %s\n", row.Program, row.Reason)
		} else if busy := row.NativeS / median(row.NativeCPU); busy > 1.2 {
			fmt.Fprintf(w, "%s: native took %.1f times its processor time: the machine was busy, the factors are doubtful\n", row.Program, busy)
		}
	}
	for _, col := range r.columns {
		by := map[string][]string{}
		for _, row := range r.Programs {
			if c := row.Cells[col.name]; c != nil && c.Reason != "" && c.Reason != errNoSpec.Error() {
				by[c.Reason] = append(by[c.Reason], row.Program)
			}
		}
		for _, reason := range slices.Sorted(maps.Keys(by)) {
			who := strings.Join(by[reason], ", ")
			if len(by[reason]) == len(r.Programs) {
				who = "all"
			}
			fmt.Fprintf(w, "n/a %s of %s: %s\n", col.name, who, reason)
		}
	}
}
