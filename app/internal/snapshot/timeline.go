// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// Timeline returns the saved form of a timeline. Its Above, Refers and Names and the Joined of its
// Audits follow from the rest, and are not saved.
func (w *Writer) Timeline(t *change.Timeline) *statepb.Timeline {
	w.intents.reset()
	m := w.slabs.timelines.next()
	*m = statepb.Timeline{
		Ref:      w.Ref(&t.Ref),
		Events:   messages(w, t.Events, (*Writer).Event),
		Requests: messages(w, t.Requests(), (*Writer).Request),
		Folded:   t.Folded,

		Revisable: savedRevisable(w, t.Revisable),
	}
	m.Versions = messages(w, t.Versions, func(w *Writer, v *history.Version) *statepb.Version {
		return savedVersion(w, v, &m.Intents)
	})
	if t.Removal != nil {
		m.Removal = savedRemoval(w, t.Removal)
	}
	if t.Audits != nil {
		m.Audits, m.AuditsHandedOut = w.Audits(t.Audits.List), t.Audits.HandedOut
	}
	if t.Past != nil {
		m.Past = w.Past(t.Past)
	}
	if t.Recent != nil {
		m.Recent = messages(w, t.Recent.List, savedInstant)
	}
	return m
}

// Timeline returns the timeline.
func (r *Reader) Timeline(m *statepb.Timeline) *change.Timeline {
	t := &change.Timeline{Record: history.Record{
		Ref:    r.Ref(m.Ref),
		Events: values(r, m.Events, (*Reader).Event),
		Folded: m.Folded,
	}}
	t.SetRequests(values(r, m.Requests, (*Reader).Request))
	intents := values(r, m.Intents, readIntent)
	for _, i := range intents {
		i.Ref = &t.Ref
	}
	t.Versions = values(r, m.Versions, func(r *Reader, v *statepb.Version) *history.Version {
		return readVersion(r, v, intents)
	})
	if t.Folded && len(t.Versions) == 0 {
		r.Fail("a value is missing")
	}
	if m.Removal != nil {
		t.Removal = readRemoval(r, m.Removal)
	}
	if len(m.Audits) > 0 {
		t.Audits = &change.Audits{List: r.Audits(m.Audits), HandedOut: m.AuditsHandedOut}
	}
	if m.Past != nil {
		past := r.Past(m.Past)
		t.Past = &past
	}
	t.Revisable = readRevisable(r, m.Revisable)
	if len(m.Recent) > 0 {
		t.Recent = &change.Recent{List: values(r, m.Recent, readInstant)}
	}
	return t
}

func savedVersion(w *Writer, v *history.Version, intents *[]*statepb.Intent) *statepb.Version {
	m := w.slabs.versions.next()
	*m = statepb.Version{
		Intent:          share(w, &w.intents, v.Intent, intents, savedIntent),
		Status:          share(w, &w.statuses, v.Status, &w.Part.Statuses, savedStatus),
		ResourceVersion: v.ResourceVersion,
		Managers:        savedManagerList(w, v.Managers),
		Seen:            w.Time(v.Seen),
		Listed:          v.Listed,
		Late:            v.Late,
		Baseline:        v.Baseline,
		HandedOut:       v.HandedOut,
		Foreign:         v.Foreign,
	}
	return m
}

func readVersion(r *Reader, m *statepb.Version, intents []*history.Intent) *history.Version {
	return &history.Version{
		Intent:          must(r, intents, m.Intent),
		Status:          must(r, r.statuses, m.Status),
		ResourceVersion: m.ResourceVersion,
		Managers:        at(r, r.managerLists, m.Managers),
		Seen:            r.Time(m.Seen),
		Listed:          m.Listed,
		Late:            m.Late,
		Baseline:        m.Baseline,
		HandedOut:       m.HandedOut,
		Foreign:         m.Foreign,
	}
}

func savedRemoval(w *Writer, o *history.Removal) *statepb.Removal {
	return &statepb.Removal{
		Rv:        o.RV,
		Seen:      w.Time(o.Seen),
		Listed:    o.Listed,
		HandedOut: o.HandedOut,
		Foreign:   o.Foreign,
	}
}

func readRemoval(r *Reader, m *statepb.Removal) *history.Removal {
	return &history.Removal{
		RV:        m.Rv,
		Seen:      r.Time(m.Seen),
		Listed:    m.Listed,
		HandedOut: m.HandedOut,
		Foreign:   m.Foreign,
	}
}

// savedIntent omits the Ref, which is that of the timeline.
func savedIntent(w *Writer, i *history.Intent) *statepb.Intent {
	m := w.slabs.intents.next()
	*m = statepb.Intent{
		Leave:      share(w, &w.leaves, i.Leave, &w.Part.Leaves, savedLeave),
		Origin:     share(w, &w.origins, i.Origin, &w.Part.Origins, savedOrigin),
		Created:    w.Time(i.Created),
		Owners:     savedOwnerList(w, i.Owners),
		Finalizers: shareList(w, &w.finalizers, i.Finalizers, &w.Part.Finalizers, (*Writer).Text),
		Generation: i.Generation,
		Desired:    i.Desired,
		Reconciled: i.Reconciled,
		Fields:     share(w, &w.fields, i.Fields, &w.Part.Fields, savedFieldTable),
		Relations:  savedRelationList(w, i.Relations),
		Labels:     savedLabels(w, i.Labels),
	}
	return m
}

func savedLabels(w *Writer, list []object.Label) []uint64 {
	if len(list) == 0 {
		return nil
	}
	out := make([]uint64, 0, 2*len(list))
	for _, l := range list {
		out = append(out, w.Text(l.Key), w.Text(l.Value))
	}
	return out
}

func readLabels(r *Reader, list []uint64) []object.Label {
	if len(list)%2 != 0 {
		r.Fail("a label has no value")
		return nil
	}
	var out []object.Label
	for i := 0; i < len(list); i += 2 {
		out = append(out, object.Label{Key: r.Text(list[i]), Value: r.Text(list[i+1])})
	}
	return out
}

func readIntent(r *Reader, m *statepb.Intent) *history.Intent {
	extra := history.IntentExtra{
		Finalizers: at(r, r.finalizers, m.Finalizers),
		Relations:  at(r, r.relations, m.Relations),
		Labels:     readLabels(r, m.Labels),
	}
	return &history.Intent{
		Leave:       must(r, r.leaves, m.Leave),
		Origin:      must(r, r.origins, m.Origin),
		IntentExtra: extra.Kept(),
		Created:     r.Time(m.Created),
		Owners:      at(r, r.owners, m.Owners),
		Generation:  m.Generation,
		Desired:     m.Desired,
		Reconciled:  m.Reconciled,
		Fields:      at(r, r.fields, m.Fields),
	}
}

func savedLeave(w *Writer, l *history.Leave) *statepb.Leave {
	return &statepb.Leave{Deleting: w.Time(l.Deleting), GraceSeconds: l.GraceSeconds}
}

func readLeave(r *Reader, m *statepb.Leave) *history.Leave {
	return &history.Leave{Deleting: r.Time(m.Deleting), GraceSeconds: m.GraceSeconds}
}

func savedOrigin(w *Writer, o *history.Origin) *statepb.Origin {
	return &statepb.Origin{
		TraceParent:     w.Text(o.TraceParent),
		TraceState:      w.Text(o.TraceState),
		TraceConvention: w.Text(o.TraceConvention),
		GenerateName:    w.Text(o.GenerateName),
	}
}

func readOrigin(r *Reader, m *statepb.Origin) *history.Origin {
	return &history.Origin{
		TraceParent:     r.Text(m.TraceParent),
		TraceState:      r.Text(m.TraceState),
		TraceConvention: r.Text(m.TraceConvention),
		GenerateName:    r.Text(m.GenerateName),
	}
}

func savedFieldTable(w *Writer, f *history.Fields) *statepb.Fields {
	n := len(f.Leaves)
	w.values += n
	m := &statepb.Fields{Paths: make([]uint64, n), Values: make([]uint64, n), Managers: make([]uint64, n)}
	for i, l := range f.Leaves {
		m.Paths[i], m.Values[i], m.Managers[i] = w.Text(l.Path), l.Value, l.Managers
		if l.Shown != "" {
			if m.Shown == nil {
				m.Shown = make([]uint64, n)
			}
			m.Shown[i] = w.Text(l.Shown)
		}
	}
	return m
}

func readFieldTable(r *Reader, m *statepb.Fields) *history.Fields {
	n := len(m.Paths)
	if len(m.Values) != n || len(m.Managers) != n || len(m.Shown) != 0 && len(m.Shown) != n {
		r.Fail("a table of fields is incomplete")
		return nil
	}
	f := &history.Fields{}
	if n > 0 {
		f.Leaves = make([]observation.Leaf, n)
	}
	for i := range f.Leaves {
		f.Leaves[i] = observation.Leaf{Path: r.Text(m.Paths[i]), Value: m.Values[i], Managers: m.Managers[i]}
		if len(m.Shown) > 0 {
			f.Leaves[i].Shown = r.Text(m.Shown[i])
		}
	}
	return f
}

func savedManagerList(w *Writer, list []*observation.Manager) uint64 {
	return shareList(w, &w.managerLists, list, &w.Part.ManagerLists, func(w *Writer, m *observation.Manager) uint64 {
		return share(w, &w.managers, m, &w.Part.Managers, savedManager)
	})
}

func savedManager(w *Writer, m *observation.Manager) *statepb.Manager {
	return &statepb.Manager{
		Name:        w.Text(m.Name),
		Operation:   w.Text(m.Operation),
		Subresource: w.Text(m.Subresource),
		Time:        w.Time(m.Time),
		Fields:      m.Fields,
	}
}

func readManager(r *Reader, m *statepb.Manager) *observation.Manager {
	return &observation.Manager{
		Name:        r.Text(m.Name),
		Operation:   r.Text(m.Operation),
		Subresource: r.Text(m.Subresource),
		Time:        r.Time(m.Time),
		Fields:      m.Fields,
	}
}

// Event returns the saved form of an occurrence of a Kubernetes Event.
func (w *Writer) Event(e *history.Event) *statepb.Event {
	m := &statepb.Event{
		Notice:          share(w, &w.notices, e.Notice, &w.Part.Notices, savedNotice),
		ResourceVersion: e.ResourceVersion,
		Count:           e.Count,
		Exact:           e.Exact,
		Listed:          e.Listed,
		HandedOut:       e.HandedOut,
		Stamp:           w.Time(e.Stamp),
		Seen:            w.Time(e.Seen),
		Foreign:         e.Foreign,
	}
	if to := e.Related; to != nil {
		m.Related = &statepb.Related{
			Uid: w.Text(string(to.UID)), Component: w.Text(to.Component), Manager: w.Text(to.Manager),
		}
	}
	return m
}

// Event returns the occurrence of a Kubernetes Event.
func (r *Reader) Event(m *statepb.Event) *history.Event {
	e := &history.Event{
		Notice:          must(r, r.notices, m.Notice),
		ResourceVersion: m.ResourceVersion,
		Count:           m.Count,
		Exact:           m.Exact,
		Listed:          m.Listed,
		HandedOut:       m.HandedOut,
		Stamp:           r.Time(m.Stamp),
		Seen:            r.Time(m.Seen),
		Foreign:         m.Foreign,
	}
	if to := m.Related; to != nil {
		e.Related = &history.Related{
			UID: types.UID(r.Text(to.Uid)), Component: r.Text(to.Component), Manager: r.Text(to.Manager),
		}
	}
	return e
}

func savedNotice(w *Writer, n *history.Notice) *statepb.Notice {
	return &statepb.Notice{
		Type:      w.Text(n.Type),
		Reason:    w.Text(n.Reason),
		FieldPath: w.Text(n.FieldPath),
		Note:      w.Text(n.Note),
	}
}

func readNotice(r *Reader, m *statepb.Notice) *history.Notice {
	return &history.Notice{
		Type:      r.Text(m.Type),
		Reason:    r.Text(m.Reason),
		FieldPath: r.Text(m.FieldPath),
		Note:      r.Text(m.Note),
	}
}
