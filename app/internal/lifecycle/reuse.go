// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// reusable are the spans of one Pod in an open trace, for the next look at its group. Most Pods of a large
// trace do not change between two looks.
type reusable struct {
	// by is the digest of the conclusions behind the spans. The observations of the Pod are not in it:
	// each new one removes the spans (see group.forget).
	by    uint64
	spans []*span.Span
}

// forget removes the kept spans of the object of t.
func (g *group) forget(t *change.Timeline) { delete(g.reusable, t) }

// reuse keeps the spans of r for the next look.
func (g *group) reuse(r *change.Reconciliation, by uint64, spans []*span.Span) {
	if g.reusable == nil {
		g.reusable = map[*change.Timeline]reusable{}
	}
	g.reusable[r.Timeline] = reusable{by: by, spans: spans}
}

// reuses reports whether the next look may use the spans of r again: r is the start of a Pod inside an open
// trace, and has ended or waits as usual. Such spans depend on the observations of the Pod, and on the
// conclusions in the digest of reuseDigest. The spans of all other reconciliations depend on more.
func (d *derivation) reuses(r *change.Reconciliation) bool {
	t := r.Timeline
	return r.Verb == history.Created && kind.Pod.Is(t.Ref.Kind) && len(r.Writes) == 1 &&
		len(d.recs[t]) == 1 && t.Past == nil && t.Audits == nil && len(t.Requests()) == 0 &&
		r.Parent != nil && r.Parent.Lineage == r.Lineage && !d.handedOut(r.Lineage) &&
		r.Superseded == nil && r.Next == nil && len(r.Refused)+len(r.Links) == 0 && r.Heals == nil &&
		d.fightOf(r) == nil &&
		(r.Done && r.Ended.Outcome != span.Failed || d.reasonOf(t).Category == "") &&
		!slices.ContainsFunc(r.Notes, func(w *change.Write) bool { return w.Timeline != t })
}

// reuseDigest returns a digest of all conclusions in the spans of r.
func (d *derivation) reuseDigest(r *change.Reconciliation) uint64 {
	var buf [1024]byte
	out := append(buf[:0], r.Lineage.ID[:]...)
	id := r.ID()
	out = append(out, id[:]...)
	out = append(out, r.Above[:]...)
	if up := d.shownAbove(r); up != nil {
		above := up.ID()
		out = append(out, above[:]...)
	}
	out = strconv.AppendBool(strconv.AppendBool(out, r.Remote), r.Admitted)
	of, name := d.workload(r.Timeline)
	out = appendWords(out, string(r.Evidence), string(r.Ended.Outcome), r.Ended.Message, of, name)
	start := d.Start(r)
	out = appendMoment(appendMoment(out, &start), &r.Ended.At)
	if !r.Done {
		out = appendWords(out, "open", d.reasonOf(r.Timeline).Text)
	}
	for _, list := range [][]*change.Write{r.Writes, r.Notes} {
		for _, w := range list {
			handedOut, _ := w.HandedOut()
			out = binary.LittleEndian.AppendUint64(out, w.RV)
			out = strconv.AppendBool(append(out, w.Verb.String()...), handedOut)
			out = appendWords(out, string(w.Part), w.Manager)
			out = appendMoment(out, &w.At)
		}
	}
	return xxhash.Sum64(out)
}

func appendWords(out []byte, words ...string) []byte {
	for _, w := range words {
		out = append(append(out, w...), 0)
	}
	return out
}

func appendMoment(out []byte, m *history.Moment) []byte {
	out = binary.LittleEndian.AppendUint64(out, uint64(m.Lo.UnixNano()))
	out = binary.LittleEndian.AppendUint64(out, uint64(m.Hi.UnixNano()))
	return strconv.AppendBool(append(out, m.Exact...), m.Live)
}
