// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

const (
	// reportEvery is the shortest time between two spans with the aftermath of one workload.
	reportEvery = time.Minute
	// beforeWindow is the longest time before a change with which its aftermath is compared.
	beforeWindow = 24 * time.Hour
	// maxOwners bounds the search for the topmost owner of a Pod.
	maxOwners = 8
)

// aftermaths collects what happens to the Pods of changes after their convergence (rule L11). It reads the
// observations as they come: those of one object are in order. A derivation never depends on it. All fields but known,
// window, places and worse are saved.
type aftermaths struct {
	known index.View
	// window is Options.Aftermath; 0 collects nothing.
	window time.Duration

	// changes are those within their window. last is the last number of a series: the records of its Pods have it.
	changes map[trace.TraceID]*aftermath
	last    int32
	// days are the incidents of each workload in the last time, by the UID of the topmost owner.
	days map[types.UID]*days
	// probes are the counts of the Events about failed probes, by the UID of the Event.
	probes map[string]probe
	// since is the time from which the days are known.
	since time.Time

	// places are the series by number, and worse the changes with incidents.
	places map[int32]place
	worse  map[trace.TraceID]struct{}
}

// place is a series of a change.
type place struct {
	change trace.TraceID
	series int
}

// aftermath is that of one change.
type aftermath struct {
	// root is the span above the aftermath. at is the time of the convergence; it is zero for a change that may still
	// converge by a later claim.
	root   trace.SpanID
	at     time.Time
	series []afterSeries
}

// afterSeries is the aftermath of the Pods of one workload.
type afterSeries struct {
	workload types.UID
	// id is the number of the series among all, and left the number of the Pods that still exist.
	id   int32
	left int
	// since and before are the incidents after the convergence, and in the time period before the change.
	since, before span.Incidents
	period        time.Duration
	// latest is the time of the newest incident, and pod the Pod that had it.
	latest time.Time
	pod    object.Ref
	// number is that of the last span, and reported its time. open means that something is new since.
	number   int
	reported time.Time
	open     bool
}

func newAftermaths(known index.View, window time.Duration) *aftermaths {
	return &aftermaths{
		known: known, window: window,
		changes: map[trace.TraceID]*aftermath{}, days: map[types.UID]*days{}, probes: map[string]probe{},
		places: map[int32]place{}, worse: map[trace.TraceID]struct{}{},
	}
}

// off reports whether nothing is collected.
func (a *aftermaths) off() bool { return a.window <= 0 }

// complete derives the places of the series and the changes with incidents, after a restoration.
func (a *aftermaths) complete() {
	for id, of := range a.changes {
		for i := range of.series {
			a.places[of.series[i].id] = place{id, i}
			if of.series[i].number > 0 || of.series[i].open {
				a.worse[id] = struct{}{}
			}
		}
	}
}

// observed notes an observation of the time at.
func (a *aftermaths) observed(at time.Time) {
	if a.since.IsZero() && !a.off() {
		a.since = at
	}
}

// version adds the incidents between two versions of the object of t: the newest one, and the newest one before.
func (a *aftermaths) version(t *change.Timeline, before, v *history.Version) {
	if a.off() || before == nil || v == nil || v.Pod == nil || before.Pod == nil ||
		v.ResourceVersion <= before.ResourceVersion {
		return
	}
	for _, one := range happened(before, v) {
		a.add(t, one)
	}
}

// event adds the failures of probes that an Event shows, unless the Pod is being deleted. A list shows what may have
// been before.
func (a *aftermaths) event(t *change.Timeline, o *observation.Observation) {
	if a.off() || o.Event.Reason != unhealthy || !kind.Pod.Is(t.Ref.Kind) {
		return
	}
	known, has := a.probes[o.Event.UID]
	count := max(1, int(o.Event.Count))
	if count <= known.count {
		return
	}
	if len(a.probes) >= maxProbes && !has {
		return
	}
	a.probes[o.Event.UID] = probe{count, o.Seen}
	if last := t.Last(); !has && o.Listed && !o.Late || last != nil && !last.Deleting.IsZero() {
		return
	}
	a.add(t, incident{occurred(o), span.Incidents{FailedProbes: count - known.count}})
}

// add adds an incident of a Pod to its workload, and to the change that made it.
func (a *aftermaths) add(t *change.Timeline, one incident) {
	if of := a.workload(t); of != "" {
		a.day(of, one)
	}
	at, known := a.places[t.Aftermath]
	if known && a.changes[at.change].add(at.series, t.Ref, one, a.window) {
		a.worse[at.change] = struct{}{}
	}
}

// add adds an incident of a Pod. It reports whether the incident is within the window.
func (of *aftermath) add(series int, pod object.Ref, one incident, window time.Duration) bool {
	if of.at.IsZero() || !one.at.After(of.at) || one.at.Sub(of.at) > window {
		return false
	}
	s := &of.series[series]
	s.since.Add(&one.Incidents)
	if !one.at.Before(s.latest) {
		s.latest, s.pod = one.at, pod
	}
	s.open = true
	return true
}

// gone ends the collection for a removed Pod.
func (a *aftermaths) gone(t *change.Timeline) {
	if at, known := a.places[t.Aftermath]; known {
		a.changes[at.change].series[at.series].left--
	}
	t.Aftermath = 0
}

// take begins the aftermath of a change that is handed out: l, with the spans of t. revisable means that it may still
// converge.
func (a *aftermaths) take(l *change.Lineage, t *span.Trace, revisable bool) {
	root := t.Root()
	if a.off() || root == nil || t.Outcome != span.Converged && !revisable {
		return
	}
	of := &aftermath{root: root.ID}
	made := map[types.UID][]*change.Timeline{}
	for _, r := range l.Reconciliations {
		if kind.Pod.Is(r.Timeline.Ref.Kind) && r.Verb == history.Created && r.Timeline.Last() != nil {
			above := a.workload(r.Timeline)
			made[above] = append(made[above], r.Timeline)
		}
	}
	if _, known := a.changes[l.ID]; known || len(made) == 0 {
		return
	}
	for _, above := range slices.Sorted(maps.Keys(made)) {
		a.last = max(1, a.last+1) // a number of old is in no record any more
		s := afterSeries{workload: above, id: a.last}
		a.places[s.id] = place{l.ID, len(of.series)}
		s.before, s.period = a.before(above, root.Start.Time)
		for _, pod := range made[above] {
			if pod.Removal == nil {
				s.left++
				pod.Aftermath = s.id
			}
		}
		of.series = append(of.series, s)
	}
	a.changes[l.ID] = of
	if t.Outcome != span.Converged {
		return
	}
	of.at = root.End.Time
	for i := range of.series { // from the convergence to the handout
		for _, pod := range made[of.series[i].workload] {
			for _, one := range incidents(pod) {
				if of.add(i, pod.Ref, one, a.window) {
					a.worse[l.ID] = struct{}{}
				}
			}
		}
	}
}

// converges begins the aftermath of a change with a later claim: it has converged at the time at.
func (a *aftermaths) converges(id trace.TraceID, at time.Time) {
	if of := a.changes[id]; of != nil && of.at.IsZero() {
		of.at = at
	}
}

// joins adds a Pod of a late reconciliation to the change that made it.
func (a *aftermaths) joins(r *change.Reconciliation) {
	of := a.changes[r.Lineage.ID]
	if of == nil || !kind.Pod.Is(r.Timeline.Ref.Kind) || r.Verb != history.Created || r.Timeline.Removal != nil {
		return
	}
	above := a.workload(r.Timeline)
	for i := range of.series {
		if of.series[i].workload == above {
			of.series[i].left++
			r.Timeline.Aftermath = of.series[i].id
			return
		}
	}
}

// due reports whether report returns spans at the time now.
func (a *aftermaths) due(now time.Time) bool {
	for id := range a.worse {
		of := a.changes[id]
		if a.over(of, now) || slices.ContainsFunc(of.series, func(s afterSeries) bool {
			return s.due(now)
		}) {
			return true
		}
	}
	return false
}

// due reports whether the series has something new for which it is time.
func (s *afterSeries) due(now time.Time) bool {
	return s.open && (s.number == 0 || now.Sub(s.reported) >= reportEvery)
}

// over reports whether nothing of a change counts any more. Observations may be late.
func (a *aftermaths) over(of *aftermath, now time.Time) bool {
	return !of.at.IsZero() && now.Sub(of.at) > a.window+change.MaxLag ||
		!slices.ContainsFunc(of.series, func(s afterSeries) bool { return s.left > 0 })
}

// report calls add with the spans that are due, and forgets the changes that are over.
func (a *aftermaths) report(now time.Time, add func(trace.TraceID, []*span.Span)) {
	for _, id := range slices.SortedFunc(maps.Keys(a.worse), compareIDs) {
		of := a.changes[id]
		over := a.over(of, now)
		var spans []*span.Span
		for i := range of.series {
			s := &of.series[i]
			if s.due(now) || over && !s.since.None() {
				s.number, s.reported, s.open = s.number+1, now, false
				spans = append(spans, s.span(id, of, i, a.window, over))
			}
		}
		if len(spans) > 0 {
			add(id, spans)
		}
		if over {
			a.drop(id)
		}
	}
}

// span returns the span with the present facts of a series.
func (s *afterSeries) span(id trace.TraceID, of *aftermath, series int, window time.Duration, over bool) *span.Span {
	facts := &span.Aftermath{
		Converged: of.at, Window: window, Over: over, Latest: s.latest, Incidents: s.since, Before: s.before,
		BeforeWindow: s.period,
	}
	at := span.Time{Time: s.latest, Source: span.TimeWatch}
	return &span.Span{
		TraceID: id, Parent: of.root, Name: span.NameAftermath, Service: "kubelet", Object: s.pod, Start: at, End: at,
		ID:      span.DeriveID(id, string(s.workload), span.NameAftermath, strconv.Itoa(s.number)),
		Message: span.Bound(facts.Text()), Attributes: facts.Attributes(series, s.number),
	}
}

// forget forgets the changes that are over, and what the next aftermaths do not need. taken are the remembered traces,
// and objects all objects.
func (a *aftermaths) forget(
	now time.Time, taken map[trace.TraceID]change.Taken, objects map[types.UID]*change.Timeline,
) {
	for id, of := range a.changes {
		_, remembered := taken[id]
		if _, worse := a.worse[id]; !worse && a.over(of, now) || of.at.IsZero() && !remembered {
			a.drop(id)
		}
	}
	for _, t := range objects {
		if _, known := a.places[t.Aftermath]; !known {
			t.Aftermath = 0
		}
	}
	for uid, d := range a.days {
		if d.forget(now); len(d.parts) == 0 {
			delete(a.days, uid)
		}
	}
	for uid, p := range a.probes {
		if now.Sub(p.seen) > eventLife {
			delete(a.probes, uid)
		}
	}
	a.changes, a.places = shrunk(a.changes), shrunk(a.places)
}

// drop forgets a change.
func (a *aftermaths) drop(id trace.TraceID) {
	for i := range a.changes[id].series {
		delete(a.places, a.changes[id].series[i].id)
	}
	delete(a.changes, id)
	delete(a.worse, id)
}

// workload returns the UID of the topmost controller above a Pod; "" without one.
func (a *aftermaths) workload(t *change.Timeline) (top types.UID) {
	for range maxOwners {
		o := a.known.Controller(t)
		if o == nil || kind.Node.Is(o.Kind) {
			break
		}
		top = o.UID
		if t = a.known.Object(o.UID); t == nil {
			break
		}
	}
	return top
}

// before returns the incidents of a workload before a change that began then, and the time that they are of: 0 if the
// workload is not older.
func (a *aftermaths) before(workload types.UID, began time.Time) (span.Incidents, time.Duration) {
	t := a.known.Object(workload)
	if t == nil || t.Last() == nil {
		return span.Incidents{}, 0
	}
	from := history.Later(history.Later(began.Add(-beforeWindow), a.since), t.Last().Created)
	period := began.Sub(from)
	if period < time.Minute {
		return span.Incidents{}, 0
	}
	var out span.Incidents
	if d := a.days[workload]; d != nil {
		out = d.between(from, began)
	}
	return out, period
}

// day adds an incident to those of a workload. With too many workloads, all begin again.
func (a *aftermaths) day(workload types.UID, one incident) {
	d := a.days[workload]
	if d == nil {
		if len(a.days) >= maxDays {
			clear(a.days)
			a.since = one.at
		}
		d = &days{}
		a.days[workload] = d
	}
	d.add(one)
}
