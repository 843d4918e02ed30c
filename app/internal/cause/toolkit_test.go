// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/placed"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/trail"
)

// epoch is the time of the first write of every case.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// tick is the time between two writes.
const tick = 100 * time.Millisecond

// cluster holds the observations of a case. Each write gets the next resourceVersion, one tick later. The last
// write before ask is the one in question: its cause is wanted. All earlier ones are placed as their marks say.
type cluster struct {
	rv      uint64
	index   *index.Index
	trail   *trail.Trail
	opts    change.Options
	states  map[string]*observation.State
	names   map[types.UID]string
	facts   []*fact
	asked   *fact
	runs    map[trace.TraceID]*observation.Run
	taken   map[trace.TraceID]change.Taken
	scene   *Scene
	reasons map[trace.SpanID]string
	// takenOwn hands out the trace that the write in question begins.
	takenOwn bool
	// old are traces to which only forgotten changes refer.
	old []string
}

// fact is one stored write, with its mark.
type fact struct {
	t      *change.Timeline
	rv     uint64
	mark   mark
	parent string
	id     string
	// place is the place in the order of writes, or 0.
	place uint64
}

// mark is the placement of a write.
type mark int

const (
	unplaced mark = iota
	// begun is a reconciliation, and instant is an instant change. parent names the object above it.
	begun
	instant
	// continued is a further write of the object's newest reconciliation, and noted is a note of it.
	continued
	noted
)

func newCluster() *cluster {
	x := index.New()
	return &cluster{
		rv: 100, index: x, trail: trail.New(x.View()), opts: change.Options{Cluster: "test"}.Complete(),
		states: map[string]*observation.State{}, names: map[types.UID]string{},
		runs: map[trace.TraceID]*observation.Run{}, taken: map[trace.TraceID]change.Taken{},
		reasons: map[trace.SpanID]string{},
	}
}

// Short names of what a case describes.
type (
	state = observation.State
	write = observation.Write
	// trait changes the next version of an object.
	trait = func(*state)
)

func (c *cluster) now() time.Time { return epoch.Add(time.Duration(c.rv-100) * tick) }

// wait lets time pass without a write.
func (c *cluster) wait(d time.Duration) { c.rv += uint64(d / tick) }

// store stores a version of the object of that name.
func (c *cluster) store(name string, edits ...trait) *fact { return c.observe(name, false, edits) }

// found stores a version that the observer finds at its start.
func (c *cluster) found(name string, edits ...trait) *fact { return c.observe(name, true, edits) }

func (c *cluster) observe(name string, baseline bool, edits []trait) *fact {
	c.rv++
	st := observation.State{
		Created: c.now().Truncate(time.Second), Generation: 1, Desired: 1, Reconciled: true, ObservedGeneration: -1,
	}
	st.Name, st.UID, st.Namespace = name, types.UID("uid-"+name), "default"
	if old := c.states[name]; old != nil {
		st = *old
		st.Leaves, st.Managers = slices.Clone(old.Leaves), slices.Clone(old.Managers)
		st.Owners, st.Relations = slices.Clone(old.Owners), slices.Clone(old.Relations)
		st.Conditions = slices.Clone(old.Conditions)
		if old.Pod != nil {
			st.Pod = new(observation.Pod)
			*st.Pod = *old.Pod
		}
		if old.Workload != nil {
			st.Workload = new(observation.Workload)
			*st.Workload = *old.Workload
		}
	}
	st.ResourceVersion = c.rv
	for _, e := range edits {
		e(&st)
	}
	slices.SortFunc(st.Leaves, func(a, b observation.Leaf) int { return strings.Compare(a.Path, b.Path) })
	c.states[name], c.names[st.UID] = &st, name
	t := c.index.Timeline(st.Ref)
	c.index.Put(t, &observation.Observation{
		Seen: c.now(), Source: observation.SourceWatch, Baseline: baseline, Listed: baseline, State: &st,
	}, false, false)
	return c.add(t)
}

// gone removes the object from the storage.
func (c *cluster) gone(name string) *fact {
	c.rv++
	st := c.states[name]
	t := c.index.Timeline(st.Ref)
	gone := &observation.Gone{Ref: st.Ref, ResourceVersion: c.rv}
	if st.Order != 0 {
		gone.ResourceVersion, gone.Order = c.rv+1000, c.rv
	}
	c.index.PutGone(t, &observation.Observation{Seen: c.now(), Source: observation.SourceWatch, Gone: gone})
	return c.add(t)
}

func (c *cluster) add(t *change.Timeline) *fact {
	f := &fact{t: t, rv: c.rv}
	c.facts = append(c.facts, f)
	return f
}

// begins marks the write as the first one of a reconciliation in its own trace.
func (f *fact) begins() *fact { f.mark = begun; return f }

// below marks the write as the first one of a reconciliation below the newest one of that object.
func (f *fact) below(parent string) *fact { f.mark, f.parent = begun, parent; return f }

// instant marks the write as an instant change in its own trace.
func (f *fact) instant() *fact { f.mark = instant; return f }

// continues marks the write as a further one of the object's newest reconciliation.
func (f *fact) continues() *fact { f.mark = continued; return f }

// noted marks the write as a note of the object's newest reconciliation.
func (f *fact) noted() *fact { f.mark = noted; return f }

// in puts the reconciliation of the write into the trace with that ID.
func (f *fact) in(id string) *fact { f.id = id; return f }

// ask makes the last write the one in question. Later ones are only observations.
func (c *cluster) ask() { c.asked = c.facts[len(c.facts)-1] }

// askLast makes f the write in question, after the placement of all others.
func (c *cluster) askLast(f *fact) {
	c.facts = append(slices.DeleteFunc(c.facts, func(other *fact) bool { return other == f }), f)
	f.place = c.rv + 1
}

// event adds an Event by a component about an object, with a related one. The component may have a field manager.
func (c *cluster) event(component, about, reason, note, related string, manager ...string) {
	c.rv++
	e := &observation.Event{
		UID: fmt.Sprint("event-", c.rv), ResourceVersion: c.rv, Regarding: c.states[about].Ref, Reason: reason,
		Note: note, Component: component, Time: c.now(), Count: 1,
	}
	if len(manager) > 0 {
		e.Manager = manager[0]
	}
	if related != "" {
		ref := c.states[related].Ref
		ref.Namespace = e.Regarding.Namespace // the author of an Event could write any UID
		e.Related = &ref
	}
	t := c.index.Timeline(e.Regarding)
	t.Event(&observation.Observation{Seen: c.now(), Event: e}, c.index.Shared())
	c.index.Relate(t, nil)
}

// run adds a command with a trace.
func (c *cluster) run(id string) {
	sc := change.ParseContext(traceParent(id, 0xff), "")
	c.runs[sc.TraceID()] = &observation.Run{TraceParent: traceParent(id, 0xff), Start: c.now()}
}

// requested adds the request of the write, by the command of the trace.
func (c *cluster) requested(f *fact, id string) {
	f.t.Request(&observation.Write{
		Ref: f.t.Ref, Verb: "patch", Code: 200, ResourceVersion: f.rv, Start: c.now(), End: c.now(),
		UserAgent: "kubectl/v1.36.3", TraceParent: traceParent(id, int(f.rv)),
	})
}

// audited adds the request of the write to the audit log.
func (c *cluster) audited(f *fact, user, agent string, edits ...func(*write)) {
	q := &observation.Write{
		Ref: f.t.Ref, Verb: "update", Code: 200, ResourceVersion: f.rv, Start: c.now(), End: c.now(),
		AuditID: fmt.Sprint("audit-", f.rv), User: user, UserAgent: agent,
	}
	switch last := f.t.Last(); {
	case f.t.Removal != nil && f.t.Removal.RV == f.rv:
		q.Verb, q.ResourceVersion = "delete", 0
	case last != nil && len(f.t.Versions) == 1 && !last.Baseline:
		q.Verb, q.Code = "create", 201
	case last != nil && !last.Deleting.IsZero():
		q.Verb = "delete"
	}
	for _, e := range edits {
		e(q)
	}
	c.trail.Attach(f.t, q)
}

// handOut hands out the trace, with the writes as its originations.
func (c *cluster) handOut(id string, latest time.Time, members ...uint64) {
	sc := change.ParseContext(traceParent(id, 1), "")
	c.taken[sc.TraceID()] = change.Taken{At: latest, Latest: latest, Originations: members}
}

// outside makes the handed-out trace one with a context from outside.
func (c *cluster) outside(id string) {
	sc := change.ParseContext(traceParent(id, 1), "")
	end := c.taken[sc.TraceID()]
	end.Outside = true
	c.taken[sc.TraceID()] = end
}

// writeOf returns the write of the fact.
func (c *cluster) writeOf(f *fact) *change.Write {
	for _, w := range f.t.Writes(nil, HowRebuilt(c.scene, f.t)) {
		if w.RV == f.rv {
			w.Place = f.place
			return &w
		}
	}
	return nil
}

// set returns the write in question, after the placement of all earlier ones.
func (c *cluster) set() *change.Write {
	view := c.index.View()
	p := placed.New(view, c.opts, c.taken, len(c.facts))
	for id, r := range c.runs {
		p.Lines[id] = &change.Lineage{ID: id, Run: r, Latest: r.Start}
	}
	for _, id := range c.old {
		sc := change.ParseContext(traceParent(id, 1), "")
		p.Lines[sc.TraceID()] = &change.Lineage{ID: sc.TraceID(), Old: true}
	}
	c.scene = NewScene(view, p, c.trail, c.opts, maps.Values(c.index.Objects()))
	asked := cmp.Or(c.asked, c.facts[len(c.facts)-1])
	for _, f := range c.facts {
		if f == asked {
			break
		}
		if w := c.writeOf(f); w != nil {
			c.place(f, w)
			Occupy(c.scene, w)
		}
	}
	w := c.writeOf(asked)
	if c.takenOwn {
		c.taken[derivedID(c.scene, w)] = change.Taken{At: c.now(), Latest: c.now()}
	}
	return w
}

// place places an earlier write.
func (c *cluster) place(f *fact, w *change.Write) {
	p := c.scene.Placed
	now := p.Current(f.t.Ref.UID)
	switch f.mark {
	case unplaced:
		return
	case continued:
		now.Wrote(w)
		return
	case noted:
		now.Note(w)
		now.Activity, now.Lineage.Latest = w.At.At().Time, w.At.At().Time
		return
	}
	r := &change.Reconciliation{
		Timeline: f.t, Verb: w.Verb, Instant: f.mark == instant, Activity: w.At.At().Time,
		Took: w.Parts(), Parts: w.Parts(),
	}
	switch {
	case f.parent != "":
		r.Parent = p.Current(c.states[f.parent].UID)
		r.Lineage, r.Evidence = r.Parent.Lineage, span.ByOwner
	case f.id != "":
		sc := change.ParseContext(traceParent(f.id, 1), "")
		r.Lineage = &change.Lineage{ID: sc.TraceID()}
		r.Above, r.Remote, r.Evidence = sc.SpanID(), true, span.ByAnnotation
	default:
		r.Lineage = newLine(c.scene, w)
	}
	if l := p.Lines[r.Lineage.ID]; l != nil {
		r.Lineage = l
	}
	p.Lines[r.Lineage.ID] = r.Lineage
	r.Wrote(w)
	for _, old := range p.Of(f.t) {
		if r.Instant || old.Superseded != nil || old.Verb == history.Deleted || old.ConvergedBy(w.RV) != nil {
			continue
		}
		if left := old.Parts &^ old.Loses(w) & f.t.Kind().Whole(); left != 0 {
			old.Parts = left
			continue
		}
		old.Superseded = w
	}
	p.Add(r)
	r.Lineage.Latest = history.Later(r.Lineage.Latest, w.At.At().Time)
	if !r.Instant {
		Relate(c.scene, r)
	}
	c.reasons[r.ID()] = c.names[f.t.Ref.UID]
}

// apply returns the result of the rule for w in words.
func (c *cluster) apply(by rule, w *change.Write) string {
	got, found, links := by(c.scene, w)
	if !found {
		return "no cause" + c.links(links)
	}
	var b strings.Builder
	switch {
	case got.Parent != nil:
		fmt.Fprintf(&b, "below %s", c.nameOf(got.Parent))
		if got.Parent.Lineage != got.Line {
			b.WriteString(" in another trace")
		}
	case got.Above.IsValid():
		which := fmt.Sprintf("span %x", got.Above[7])
		if got.Above[0] != 0 {
			which = "its span" // a hash
		}
		fmt.Fprintf(&b, "below %s of trace %.4s", which, got.Line.ID)
		if got.Remote {
			b.WriteString(" outside")
		}
	case got.Line.ID == derivedID(c.scene, w):
		b.WriteString("new trace")
	case len(got.Line.Reconciliations) > 0:
		fmt.Fprintf(&b, "trace of %s", c.names[got.Line.Reconciliations[0].Timeline.Ref.UID])
	default:
		fmt.Fprintf(&b, "trace %.4s", got.Line.ID)
	}
	if got.Evidence != "" {
		fmt.Fprintf(&b, " (%s)", got.Evidence)
	}
	if got.Span.IsValid() {
		b.WriteString(" as admitted")
	}
	if got.Heals != nil {
		fmt.Fprintf(&b, ", heals %s", c.names[got.Heals.Ref.UID])
	}
	return b.String() + c.links(append(slices.Clone(got.Links), links...))
}

// nameOf returns the name of the object of r. A number follows if r is not the object's newest reconciliation.
func (c *cluster) nameOf(r *change.Reconciliation) string {
	name := c.names[r.Timeline.Ref.UID]
	all := c.scene.Placed.Of(r.Timeline)
	if i := slices.Index(all, r); i >= 0 && i < len(all)-1 {
		return fmt.Sprintf("%s #%d", name, i+1)
	}
	return name
}

// links returns the links in words, each with its reason and its object.
func (c *cluster) links(links []span.Link) string {
	var b strings.Builder
	for _, l := range links {
		to := c.reasons[l.SpanID]
		if to == "" {
			to = fmt.Sprintf("%.4s", l.TraceID)
		}
		fmt.Fprintf(&b, " ~%s %s", l.Reason, to)
	}
	return b.String()
}

// ruleCase is a case of a rule.
type ruleCase struct {
	reason string
	tell   func(*cluster)
	want   string
}

// testRule applies the rule to the write in question of each case.
func testRule(t *testing.T, by rule, cases map[string]ruleCase) {
	t.Helper()
	testAnswer(t, func(c *cluster, w *change.Write) string { return c.apply(by, w) }, cases)
}

// testReport is testRule for a function that answers yes or no.
func testReport(t *testing.T, reports func(*Scene, *change.Write) bool, cases map[string]ruleCase) {
	t.Helper()
	testAnswer(t, func(c *cluster, w *change.Write) string {
		if reports(c.scene, w) {
			return "yes"
		}
		return "no"
	}, cases)
}

// testParent is testRule for a function that returns a reconciliation, or nil.
func testParent(t *testing.T, of func(*Scene, *change.Write) *change.Reconciliation, cases map[string]ruleCase) {
	t.Helper()
	testAnswer(t, func(c *cluster, w *change.Write) string {
		if r := of(c.scene, w); r != nil {
			return fmt.Sprintf("%s %s", r.Verb, c.nameOf(r))
		}
		return "none"
	}, cases)
}

// testAnswer compares the answers about the write in question of each case. An answer must change nothing, and neither
// must any rule. A second answer must be the same.
func testAnswer(t *testing.T, answer func(*cluster, *change.Write) string, cases map[string]ruleCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			tc.tell(c)
			w := c.set()
			if w == nil {
				t.Fatal("the case has no write in question")
			}
			before := fingerprint(c.scene, w)
			got := answer(c, w)
			if diff := gocmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			Of(c.scene, w) // no rule changes the scene, in any case
			if diff := gocmp.Diff(before, fingerprint(c.scene, w)); diff != "" {
				t.Errorf("the scene has changed (-before +after):\n%s", diff)
			}
			if again := answer(c, w); again != got {
				t.Errorf("a second call gives %q, the first one gave %q", again, got)
			}
		})
	}
}
