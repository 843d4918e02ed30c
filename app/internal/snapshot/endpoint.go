// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot/statepb"
)

// Publications returns the saved form of the publications of a Pod.
func (w *Writer) Publications(all []change.Publication) []*statepb.Publication {
	return messages(w, all, savedPublication)
}

// Publications returns the publications of a Pod.
func (r *Reader) Publications(all []*statepb.Publication) []change.Publication {
	return values(r, all, readPublication)
}

func savedPublication(w *Writer, p change.Publication) *statepb.Publication {
	return &statepb.Publication{
		Service: w.Text(p.Service), Owner: w.Text(string(p.Owner)), Rv: p.RV, At: w.Moment(p.At),
		Baseline: p.Baseline, HandedOut: p.HandedOut,
	}
}

func readPublication(r *Reader, m *statepb.Publication) change.Publication {
	return change.Publication{
		Service: r.Text(m.Service), Owner: types.UID(r.Text(m.Owner)), RV: m.Rv, At: r.Moment(m.At),
		Baseline: m.Baseline, HandedOut: m.HandedOut,
	}
}

// Moment returns the saved form of a moment.
func (w *Writer) Moment(m history.Moment) *statepb.Moment {
	return &statepb.Moment{
		Lo: w.Time(m.Lo), Hi: w.Time(m.Hi), Live: m.Live, Exact: w.Text(string(m.Exact)), Range: m.Range,
	}
}

// Moment returns the moment.
func (r *Reader) Moment(m *statepb.Moment) history.Moment {
	out := history.NewMoment(r.Time(m.GetLo()), r.Time(m.GetHi()), m.GetLive(), r.Text(m.GetExact()))
	out.Range = m.GetRange()
	return out
}
