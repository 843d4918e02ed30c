// SPDX-License-Identifier: Apache-2.0

package trail

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// Header adds the single values to the header of a saved state.
func (tr *Trail) Header(s *snapshot.Writer, h *statepb.Header) {
	h.AuditDelay, h.AuditAt, h.TrailTurned = int64(tr.delay), s.Time(tr.at), s.Time(tr.turned)
}

// RestoreHeader reads the single values from the header of a saved state.
func (tr *Trail) RestoreHeader(r *snapshot.Reader, h *statepb.Header) {
	tr.delay, tr.at, tr.turned = time.Duration(h.AuditDelay), r.Time(h.AuditAt), r.Time(h.TrailTurned)
}

// Save writes all other data to a saved state. The counts are not saved.
func (tr *Trail) Save(s *snapshot.Writer) {
	for key, one := range snapshot.ByKey(tr.sightings, cmp.Compare) {
		s.Part.Sightings = append(s.Part.Sightings, one.saved(key))
		s.Next()
	}
	for key, one := range snapshot.ByKey(tr.earlier, cmp.Compare) {
		s.Part.EarlierSightings = append(s.Part.EarlierSightings, one.saved(key))
		s.Next()
	}
	for id, list := range snapshot.ByKey(tr.waiting, index.CompareSubjects) {
		s.Part.Adrift = append(s.Part.Adrift, savedWaiting(s, id, list))
		s.Next()
	}
	for id, list := range snapshot.ByKey(tr.longer, index.CompareSubjects) {
		s.Part.LongAdrift = append(s.Part.LongAdrift, savedWaiting(s, id, list))
		s.Next()
	}
	for id, of := range snapshot.ByKey(tr.refusals, index.CompareSubjects) {
		s.Part.Refusals = append(s.Part.Refusals, savedRefusals(s, id, of))
		s.Next()
	}
}

// Restore reads a part of a saved state.
func (tr *Trail) Restore(r *snapshot.Reader, p *statepb.Part) {
	for _, m := range p.Sightings {
		tr.sightings[m.Key] = sighting{content: m.Content, twice: m.Twice}
	}
	for _, m := range p.EarlierSightings {
		tr.earlier[m.Key] = sighting{content: m.Content, twice: m.Twice}
	}
	for _, m := range p.Adrift {
		tr.waiting[restoredSubject(r, m.Subject)] = some(r, m.Requests)
	}
	for _, m := range p.LongAdrift {
		tr.longer[restoredSubject(r, m.Subject)] = some(r, m.Requests)
	}
	for _, m := range p.Refusals {
		tr.refusals[restoredSubject(r, m.Subject)] = restoredRefusals(r, m)
	}
}

func (s sighting) saved(key uint64) *statepb.Sighting {
	return &statepb.Sighting{Key: key, Content: s.content, Twice: s.twice}
}

func savedWaiting(s *snapshot.Writer, id index.Subject, list []*observation.Write) *statepb.Adrift {
	return &statepb.Adrift{Subject: savedSubject(s, id), Requests: s.Audits(list)}
}

// some returns the requests with these numbers. At least one is required.
func some(r *snapshot.Reader, numbers []uint64) []*observation.Write {
	if len(numbers) == 0 {
		r.Fail("a value is missing")
	}
	return r.Audits(numbers)
}

func savedRefusals(s *snapshot.Writer, id index.Subject, of *Refusals) *statepb.Refusals {
	m := &statepb.Refusals{Subject: savedSubject(s, id), Last: s.Time(of.Last)}
	for _, k := range of.Kinds {
		m.Kinds = append(m.Kinds, &statepb.Refusal{
			Requests:  s.Audits(k.Writes),
			Repeats:   int64(k.Repeats),
			Last:      s.Time(k.Last),
			HandedOut: k.HandedOut,
		})
	}
	return m
}

func restoredRefusals(r *snapshot.Reader, m *statepb.Refusals) *Refusals {
	of := &Refusals{Last: r.Time(m.Last)}
	if len(m.Kinds) == 0 {
		r.Fail("a value is missing")
	}
	for _, k := range m.Kinds {
		of.Kinds = append(of.Kinds, &Refusal{
			Writes:    some(r, k.Requests),
			Repeats:   int(k.Repeats),
			Last:      r.Time(k.Last),
			HandedOut: k.HandedOut,
		})
	}
	return of
}

func savedSubject(s *snapshot.Writer, i index.Subject) *statepb.Subject {
	return &statepb.Subject{
		Uid:       s.Text(string(i.UID)),
		Owner:     s.Text(string(i.Owner)),
		Group:     s.Text(i.Group),
		Kind:      s.Text(i.Kind),
		Namespace: s.Text(i.Namespace),
		Name:      s.Text(i.Name),
	}
}

func restoredSubject(r *snapshot.Reader, m *statepb.Subject) index.Subject {
	return index.Subject{
		UID:       types.UID(r.Text(m.GetUid())),
		Owner:     types.UID(r.Text(m.GetOwner())),
		Group:     r.Text(m.GetGroup()),
		Kind:      r.Text(m.GetKind()),
		Namespace: r.Text(m.GetNamespace()),
		Name:      r.Text(m.GetName()),
	}
}
