// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

func (s saver) trail(t *trail) {
	for key, one := range byKey(t.sightings, cmp.Compare) {
		s.Part.Sightings = append(s.Part.Sightings, one.saved(key))
		s.Next()
	}
	for key, one := range byKey(t.earlier, cmp.Compare) {
		s.Part.EarlierSightings = append(s.Part.EarlierSightings, one.saved(key))
		s.Next()
	}
	for id, list := range byKey(t.adrift, compareSubjects) {
		s.Part.Adrift = append(s.Part.Adrift, s.adrift(id, list))
		s.Next()
	}
	for id, list := range byKey(t.longAdrift, compareSubjects) {
		s.Part.LongAdrift = append(s.Part.LongAdrift, s.adrift(id, list))
		s.Next()
	}
	for id, of := range byKey(t.refusals, compareSubjects) {
		s.Part.Refusals = append(s.Part.Refusals, s.refusals(id, of))
		s.Next()
	}
}

func (r restorer) trail(t *trail, p *statepb.Part) {
	for _, m := range p.Sightings {
		t.sightings[m.Key] = sighting{content: m.Content, twice: m.Twice}
	}
	for _, m := range p.EarlierSightings {
		t.earlier[m.Key] = sighting{content: m.Content, twice: m.Twice}
	}
	for _, m := range p.Adrift {
		t.adrift[r.subject(m.Subject)] = r.some(m.Requests)
	}
	for _, m := range p.LongAdrift {
		t.longAdrift[r.subject(m.Subject)] = r.some(m.Requests)
	}
	for _, m := range p.Refusals {
		t.refusals[r.subject(m.Subject)] = r.refusals(m)
	}
}

func (s sighting) saved(key uint64) *statepb.Sighting {
	return &statepb.Sighting{Key: key, Content: s.content, Twice: s.twice}
}

func (s saver) adrift(id subject, list []*observation.Write) *statepb.Adrift {
	return &statepb.Adrift{Subject: s.subject(id), Requests: s.Audits(list)}
}

// some returns the requests with these numbers. At least one is required.
func (r restorer) some(numbers []uint64) []*observation.Write {
	if len(numbers) == 0 {
		r.Fail("a value is missing")
	}
	return r.Audits(numbers)
}

func (s saver) refusals(id subject, of *refusals) *statepb.Refusals {
	m := &statepb.Refusals{Subject: s.subject(id), Last: s.Time(of.last)}
	for _, k := range of.kinds {
		m.Kinds = append(m.Kinds, &statepb.Refusal{
			Requests:  s.Audits(k.writes),
			Repeats:   int64(k.repeats),
			Last:      s.Time(k.last),
			HandedOut: k.handedOut,
		})
	}
	return m
}

func (r restorer) refusals(m *statepb.Refusals) *refusals {
	of := &refusals{last: r.Time(m.Last)}
	if len(m.Kinds) == 0 {
		r.Fail("a value is missing")
	}
	for _, k := range m.Kinds {
		of.kinds = append(of.kinds, &refusal{
			writes:    r.some(k.Requests),
			repeats:   int(k.Repeats),
			last:      r.Time(k.Last),
			handedOut: k.HandedOut,
		})
	}
	return of
}

func (s saver) subject(i subject) *statepb.Subject {
	return &statepb.Subject{
		Uid:       s.Text(string(i.UID)),
		Owner:     s.Text(string(i.Owner)),
		Group:     s.Text(i.Group),
		Kind:      s.Text(i.Kind),
		Namespace: s.Text(i.Namespace),
		Name:      s.Text(i.Name),
	}
}

func (r restorer) subject(m *statepb.Subject) subject {
	return subject{
		UID:       types.UID(r.Text(m.GetUid())),
		Owner:     types.UID(r.Text(m.GetOwner())),
		Group:     r.Text(m.GetGroup()),
		Kind:      r.Text(m.GetKind()),
		Namespace: r.Text(m.GetNamespace()),
		Name:      r.Text(m.GetName()),
	}
}
