package capture

import "mgtrace/trace"

// SiteList is what the records of runs are: the stores of a plan, which are many and known at once, and calls, which
// are met one by one. These are put behind the stores only where somebody asks for all: to a program with a million
// stores the first call would cost a copy of them.
type SiteList struct {
	known, fresh []trace.StoreSite
}

// Set replaces all sites. What sites has is not changed.
func (l *SiteList) Set(sites []trace.StoreSite) {
	l.known, l.fresh = sites[:len(sites):len(sites)], nil
}

// Add appends sites.
func (l *SiteList) Add(fresh []trace.StoreSite) { l.fresh = append(l.fresh, fresh...) }

// All are all sites, by StoreRec.Site. They stay as they are.
func (l *SiteList) All() []trace.StoreSite {
	if len(l.fresh) > 0 {
		l.known, l.fresh = append(l.known, l.fresh...), nil
	}
	return l.known
}
