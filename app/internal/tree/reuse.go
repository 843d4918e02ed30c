// SPDX-License-Identifier: Apache-2.0

package tree

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

// Kept has the spans of Pods in open traces, for the next look at their group. Most Pods of a large trace do not
// change between two looks. The zero value is empty.
type Kept struct {
	of map[*change.Timeline]keptSpans
}

type keptSpans struct {
	// by is the digest of the conclusions behind the spans. The observations of the Pod are not in it:
	// each new one removes the spans (see Forget).
	by    uint64
	spans []*span.Span
}

// Forget removes the spans of the object of t.
func (k *Kept) Forget(t *change.Timeline) { delete(k.of, t) }

// Reset removes all spans.
func (k *Kept) Reset() { k.of = nil }

// find returns the spans of the object of t that follow from the same conclusions, or nil.
func (k *Kept) find(t *change.Timeline, by uint64) []*span.Span {
	if m, ok := k.of[t]; ok && m.by == by {
		return m.spans
	}
	return nil
}

func (k *Kept) add(t *change.Timeline, by uint64, spans []*span.Span) {
	if k.of == nil {
		k.of = map[*change.Timeline]keptSpans{}
	}
	k.of[t] = keptSpans{by: by, spans: spans}
}

// reuses reports whether the next look may use the spans of r again: r is the start of a Pod inside an open
// trace, and has ended or waits as usual. Such spans depend on the observations of the Pod, and on the
// conclusions in the digest of reuseDigest. The spans of all other reconciliations depend on more.
func (b *Builder) reuses(r *change.Reconciliation) bool {
	t := r.Timeline
	return r.Verb == history.Created && kind.Pod.Is(t.Ref.Kind) && len(r.Writes) == 1 &&
		t.Past == nil && len(b.placed.Of(t)) == 1 && t.Audits == nil && len(t.Requests()) == 0 &&
		r.Parent != nil && r.Parent.Lineage == r.Lineage && !b.placed.HandedOut(r.Lineage) &&
		r.Superseded == nil && r.Next == nil && len(r.Refused)+len(r.Links) == 0 && r.Heals == nil &&
		b.fights.Of(r) == nil && len(b.known.Attachments(t)) == 0 &&
		(r.Done && r.Ended.Outcome != span.Failed || b.reasons.Of(t).Category == "") &&
		!slices.ContainsFunc(r.Notes, func(w *change.Write) bool { return w.Timeline != t })
}

// reuseDigest returns a digest of all conclusions in the spans of r.
func (b *Builder) reuseDigest(r *change.Reconciliation) uint64 {
	var buf [1024]byte
	out := append(buf[:0], r.Lineage.ID[:]...)
	id := r.ID()
	out = append(out, id[:]...)
	out = append(out, r.Above[:]...)
	if up := b.shownAbove(r); up != nil {
		above := up.ID()
		out = append(out, above[:]...)
	}
	out = strconv.AppendBool(strconv.AppendBool(out, r.Remote), r.Admitted)
	of, name := b.workload(r.Timeline)
	out = appendWords(out, string(r.Evidence), string(r.Ended.Outcome), r.Ended.Message, of, name)
	start := b.trail.Start(r)
	out = appendMoment(appendMoment(out, &start), &r.Ended.At)
	if !r.Done {
		out = appendWords(out, "open", b.reasons.Of(r.Timeline).Text)
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
	return strconv.AppendBool(strconv.AppendBool(append(out, m.Exact...), m.Live), m.Range)
}
