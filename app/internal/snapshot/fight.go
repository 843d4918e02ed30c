// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// Contests returns the saved form of the recently written fields of an object.
func (w *Writer) Contests(uid types.UID, c *change.Contests) *statepb.Contests {
	return &statepb.Contests{Uid: w.Text(string(uid)), Fields: messages(w, c.Fields, savedContest)}
}

// Contests returns the recently written fields of an object.
func (r *Reader) Contests(m *statepb.Contests) (types.UID, *change.Contests) {
	return types.UID(r.Text(m.Uid)), &change.Contests{Fields: values(r, m.Fields, readContest)}
}

// Fight returns the saved form of a part in a fight, which may be nil.
func (w *Writer) Fight(f *change.Fight) *statepb.Fight {
	if f == nil {
		return nil
	}
	m := &statepb.Fight{Against: messages(w, f.Against, savedClaim), Count: f.Count, Since: w.Time(f.Since)}
	for _, p := range f.Paths {
		m.Paths = append(m.Paths, w.Text(p))
	}
	return m
}

// Fight returns a part in a fight; nil for none.
func (r *Reader) Fight(m *statepb.Fight) *change.Fight {
	if m == nil {
		return nil
	}
	return &change.Fight{
		Paths: texts(r, m.Paths), Against: values(r, m.Against, readClaim),
		Count: m.Count, Since: r.Time(m.Since),
	}
}

func savedContest(w *Writer, c change.Contest) *statepb.Contest {
	return &statepb.Contest{
		Path:    w.Text(c.Path),
		Claims:  messages(w, c.Claims, savedClaim),
		Unknown: c.Unknown,
		Count:   c.Count,
		Since:   w.Time(c.Since),
		Last:    w.Time(c.Last),
	}
}

func readContest(r *Reader, m *statepb.Contest) change.Contest {
	return change.Contest{
		Path:    r.Text(m.Path),
		Claims:  values(r, m.Claims, readClaim),
		Unknown: m.Unknown,
		Count:   m.Count,
		Since:   r.Time(m.Since),
		Last:    r.Time(m.Last),
	}
}

func savedClaim(w *Writer, c change.Claim) *statepb.Claim {
	return &statepb.Claim{
		User:         w.Text(c.Author.User),
		Impersonator: w.Text(c.Author.Impersonator),
		Component:    w.Text(c.Author.Component),
		Value:        c.Value,
		At:           w.Time(c.At),
		TraceId:      w.TraceID(c.TraceID),
		SpanId:       w.SpanID(c.SpanID),
		Manager:      w.Text(c.Author.Manager),
	}
}

func readClaim(r *Reader, m *statepb.Claim) change.Claim {
	return change.Claim{
		Author: change.Author{
			User: r.Text(m.User), Impersonator: r.Text(m.Impersonator), Component: r.Text(m.Component),
			Manager: r.Text(m.Manager),
		},
		Value:   m.Value,
		At:      r.Time(m.At),
		TraceID: r.TraceID(m.TraceId),
		SpanID:  r.SpanID(m.SpanId),
	}
}
