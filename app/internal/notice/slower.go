// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/shift"
)

const (
	// maxSlower bounds the remembered regressions of one receiver.
	maxSlower = 1000
	// goneAfter is the time after which a regression that is missing in the reports has ended. A new sample may
	// bring it just below the level of significance, and the next one back.
	goneAfter = time.Hour
)

// toldSlower is a regression with a notice of type Slower.
type toldSlower struct {
	notice Notice
	// series are the IDs of its shifts so far.
	series map[string]bool
	// missing is the time of the first report without it; zero while it lasts.
	missing time.Time
}

// Report hands over a new report. The next look adds its notices.
func (b *Board) Report(r *shift.Report) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if slices.ContainsFunc(b.receivers, func(r *receiver) bool { return r.wants(Slower) || r.wants(SlowerEnded) }) {
		b.report = r
	}
}

// regress adds notices about the regressions of a report; nil means that there is no new one. Without room, the next
// report adds them.
func (l *look) regress(r *shift.Report) {
	if r == nil || !l.wants(Slower) && !l.wants(SlowerEnded) {
		return
	}
	groups := shift.Groups(r.Select(false, false))
	lasting, ended := map[string]*shift.Shift{}, map[string]bool{}
	for i := range r.Shifts {
		switch s := &r.Shifts[i]; {
		case s.Faster:
		case s.Ended:
			ended[s.ID] = true
		default:
			lasting[s.ID] = s
		}
	}
	for _, t := range l.slow() {
		l.followSlower(t, r, lasting, ended)
	}
	for i := range groups {
		l.startSlower(&groups[i])
	}
}

// followSlower adds the notice about the end of a told regression. It has ended if none of its shifts lasts. A shift
// that began after the notice is another one.
func (l *look) followSlower(
	t *toldSlower, r *shift.Report, lasting map[string]*shift.Shift, ended map[string]bool,
) {
	over := false
	for id := range t.series {
		if s := lasting[id]; s != nil && !s.Since.After(t.notice.Time) {
			t.missing = time.Time{}
			return
		}
		over = over || ended[id] || lasting[id] != nil
	}
	switch {
	case over:
	case r.Incomplete != "":
		return
	case t.missing.IsZero():
		t.missing, l.dirty = l.now, true
		return
	case l.now.Sub(t.missing) < goneAfter:
		return
	}
	n := t.notice
	n.ID, n.Type, n.Time, n.Next = n.Regression+"/ended", SlowerEnded, l.now.UTC(), ""
	if l.add(n) {
		delete(l.slower, n.Regression)
		l.dirty = true
	}
}

// startSlower adds the notice about a new regression. Further shifts of a told one add none.
func (l *look) startSlower(g *shift.Group) {
	all := g.All()
	for _, t := range l.slow() {
		if !slices.ContainsFunc(all, func(s *shift.Shift) bool { return t.series[s.ID] }) {
			continue
		}
		for _, s := range all {
			l.dirty = l.dirty || !t.series[s.ID]
			t.series[s.ID] = true
		}
		return
	}
	selected := slices.ContainsFunc(all, func(s *shift.Shift) bool { return l.selects(s.Namespace) })
	if !selected || len(l.slower) >= maxSlower {
		return
	}
	n := aboutSlower(g, l.now)
	if !l.add(n) {
		return
	}
	t := &toldSlower{notice: n, series: map[string]bool{}}
	for _, s := range all {
		t.series[s.ID] = true
	}
	l.slower[n.Regression], l.dirty = t, true
}

// aboutSlower returns the notice about a regression.
func aboutSlower(g *shift.Group, now time.Time) Notice {
	of := *g.Lead
	id := of.ID + "-" + g.Since.UTC().Format("20060102T150405Z")
	of.Earlier = nil
	n := Notice{
		ID: id + "/started", Type: Slower, Time: now.UTC(), Regression: id, Slower: &of, Since: g.Since.UTC(),
		Count: 1 + len(g.Others), Reason: plain(of.Title("") + ", " + of.Evidence()), Explanation: plain(of.Cause("")),
		Next: "lifeline regressions",
	}
	if of.Change != nil {
		n.Cause = cleaned(*of.Change)
	}
	if kind, name, is := strings.Cut(of.Workload, "/"); is {
		n.Object = &object.Ref{Kind: object.Kind{Kind: kind}, Namespace: of.Namespace, Name: name}
		if len(g.Others) == 0 {
			n.Next += " " + plain(strings.ToLower(kind)+"/"+name)
		}
	}
	if of.Namespace != "" && len(g.Others) == 0 {
		n.Next += " -n " + plain(of.Namespace)
	}
	bound(&of)
	return n
}

// bound bounds the texts and lists of a shift, and removes control characters.
func bound(s *shift.Shift) {
	s.Workload, s.Namespace, s.Kind = plain(s.Workload), plain(s.Namespace), plain(s.Kind)
	factors := slices.Clone(first(s.Factors))
	for i := range factors {
		values := slices.Clone(first(factors[i].Values))
		for j := range values {
			values[j].Value = plain(values[j].Value)
		}
		factors[i].Values = values
	}
	s.Factors = factors
	if s.Change != nil {
		s.Change = cleaned(*s.Change)
	}
}

// slow returns the told regressions, the oldest notice first.
func (r *receiver) slow() []*toldSlower {
	out := make([]*toldSlower, 0, len(r.slower))
	for _, t := range r.slower {
		out = append(out, t)
	}
	slices.SortFunc(out, func(x, y *toldSlower) int {
		return cmp.Or(x.notice.Time.Compare(y.notice.Time), cmp.Compare(x.notice.ID, y.notice.ID))
	})
	return out
}

func setOf(all []string) map[string]bool {
	out := map[string]bool{}
	for _, one := range all {
		out[one] = true
	}
	return out
}
