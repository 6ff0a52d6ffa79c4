package session

import (
	"context"
	"fmt"

	"mgtrace/report"
	"mgtrace/session/ask"
	"mgtrace/session/slicing"
)

// Slice prints a slice of a recording that is asked: from a criterion, or from a suspect
// of the report of the specification, if suspect is not 0.
func Slice(ctx context.Context, q *ask.Queries, path, criterion string, suspect int, a AnalysisOptions, o slicing.Options) error {
	if suspect > 0 {
		a.Slice = 0
		r, err := Locate(ctx, path, a)
		if err != nil {
			return err
		}
		if o.Suspect = suspectNo(r, suspect); o.Suspect == nil {
			return fmt.Errorf("--suspect %d: there is none of that number; mgtrace locate lists them", suspect)
		}
	}
	return slicing.Print(ctx, q, criterion, o)
}

// suspectNo is the suspect of that rank at the first C-point that has so many.
func suspectNo(r *report.Report, n int) *report.Suspect {
	for i := range r.CPoints {
		if su := r.CPoints[i].Suspects; len(su) >= n {
			return &su[n-1]
		}
	}
	return nil
}
