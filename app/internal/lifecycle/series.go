// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// seriesReport is the interval between the reports of the count of an open series.
const seriesReport = time.Hour

// foldSeries adds the forgotten changes of t, up to the resourceVersion rv, to its series.
func (k *retention) foldSeries(d *derivation, t *change.Timeline, rv uint64) {
	h := d.placing.Heartbeat(t)
	if h == nil {
		return
	}
	for i := range h.Beats {
		if h.Beats[i].RV > rv {
			break
		}
		if k.memory.series[t.Ref.UID] == nil {
			k.memory.series[t.Ref.UID] = &change.SeriesList{Ref: t.Ref}
		}
		k.memory.series[t.Ref.UID].Add(&h.Beats[i])
	}
}

// reportSeries reports the count of each series every hour and at its end.
func (k *retention) reportSeries(now time.Time) {
	for _, uid := range slices.Sorted(maps.Keys(k.memory.series)) {
		l := k.memory.series[uid]
		kept := l.All[:0]
		for i := range l.All {
			s := &l.All[i]
			over := now.Sub(s.Last) > change.SeriesGap
			if s.ReportedAt.IsZero() {
				s.ReportedAt = s.Last
			}
			counted := s.Writes - change.SeriesBegins
			if counted > s.Reported && (over || now.Sub(s.ReportedAt) >= seriesReport) {
				a := seriesAmendment(s, l.Ref, counted-s.Reported)
				a.fight = k.memory.contests[uid].Against(
					change.Component(s.Author),
					strings.Split(s.Fields, change.FieldSeparator),
				)
				k.late.facts = append(k.late.facts, a)
				s.Reported, s.ReportedAt = counted, now
			}
			if !over {
				kept = append(kept, *s)
			}
		}
		if l.All = kept; len(kept) == 0 {
			delete(k.memory.series, uid)
		}
	}
}

// seriesAmendment returns an amendment with n further writes of the series, for the trace of its first
// write.
func seriesAmendment(s *change.Series, ref object.Ref, n int64) amendment {
	return amendment{
		ref: ref, service: change.Component(s.Author), past: change.Past{TraceID: s.Line, SpanID: s.Span},
		key: "series/" + strconv.FormatUint(s.RV, 10), at: s.Last, rv: s.RV, repeats: n,
	}
}
