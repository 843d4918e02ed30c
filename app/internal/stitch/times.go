// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// timing has the times of the foreign spans of a change.
type timing struct {
	change  *change
	members []*node
	clock   corrections
}

// improve returns our spans. Spans with better times in the foreign spans are replaced by copies
// (rule T).
func (g timing) improve(own []*span.Span) []*span.Span {
	out := slices.Clone(own)
	below := map[trace.SpanID][]*node{}
	for _, n := range g.members {
		if n.home.below == nil {
			below[n.home.at] = append(below[n.home.at], n)
		}
	}
	if len(below) == 0 {
		return out
	}
	at := make(map[trace.SpanID]int, len(out))
	phases := map[trace.SpanID][]int{}
	for i, s := range out {
		at[s.ID] = i
		if isPhase(s) {
			phases[s.Parent] = append(phases[s.Parent], i)
		}
	}
	for id, tops := range below {
		i, known := at[id]
		if !known {
			continue
		}
		if s := g.answered(out[i], tops); s != nil {
			out[i] = s
		}
		if out[i].Name == span.ReconcileName("Pod") && len(phases[id]) > 0 {
			g.pod(out, i, phases[id], tops)
		}
	}
	return out
}

// isPhase reports whether s is a phase of a Pod's way to Ready.
func isPhase(s *span.Span) bool {
	return s.IsPodPhase() && s.Name != span.NameTerminate && s.Name != span.NamePublish
}

// answered returns a copy of our write with the times of the API server's span. It returns nil if
// the times are exact already.
func (g timing) answered(s *span.Span, tops []*node) *span.Span {
	if !s.IsWrite() || s.Open() || exact(s.Start.Source) && exact(s.End.Source) {
		return nil
	}
	audit := text(s.Attributes, span.KeyAuditID)
	for _, top := range tops {
		for _, n := range walk(top, nil) {
			if n.identity != (identity{byAudit, audit}) || n.home.change != g.change {
				continue
			}
			c := *s
			c.Start, c.End = g.times(n)
			return &c
		}
	}
	return nil
}

// times returns the start and end of n after clock correction.
func (g timing) times(n *node) (start, end span.Time) {
	by := g.clock.of(n)
	return span.Time{Time: n.span.Start.Add(by), Source: span.TimeOTLP}, span.Time{
		Time: n.span.End.Add(by), Source: span.TimeOTLP,
	}
}

// call is one call of a container runtime for a Pod, with data of the runtime's own spans below it.
type call struct {
	start, end span.Time
	failed     bool
	image      string
	container  string // its name in the Pod
	attempt    string
	id         string // the container's
}

// calls returns the calls below tops, by method and in order.
func (g timing) calls(tops []*node) map[string][]call {
	out := map[string][]call{}
	for _, top := range tops {
		for _, n := range walk(top, nil) {
			m := method(n.span.Name)
			if n.home.change != g.change || !isRPC(strings.TrimSuffix(n.span.Name, "/"+m)) || n.span.Open() {
				continue
			}
			if n.home.below != nil && method(n.home.below.span.Name) == m && isCall(n.home.below.span, n.span) {
				continue // the other side of the same call
			}
			switch m {
			case "RunPodSandbox", "PullImage", "CreateContainer", "StartContainer":
				out[m] = append(out[m], g.call(n))
			}
		}
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b call) int {
			return cmp.Or(a.start.Compare(b.start.Time), a.end.Compare(b.end.Time))
		})
	}
	return out
}

func (g timing) call(n *node) call {
	var c call
	c.start, c.end = g.times(n)
	c.failed = n.span.Status == span.StatusError
	for _, in := range walk(n, nil) {
		attrs := in.span.Attributes
		c.image = cmp.Or(c.image, text(attrs, keyImageRef))
		c.id = cmp.Or(c.id, text(attrs, keyContainerID))
		if name := text(attrs, keyContainerName); c.container == "" && name != "" {
			if _, attempt, ok := podOf(name); ok {
				c.container, _, _ = strings.Cut(name, "_")
				c.attempt = attempt
			}
		}
	}
	return c
}

// pod replaces the times of a Pod's phases by those of the calls that did the work. Phases that
// share a moment still share it afterwards.
func (g timing) pod(out []*span.Span, pod int, phases []int, tops []*node) {
	b := better{out: out, pod: out[pod], phases: phases, set: map[int]edges{}}
	calls := g.calls(tops)
	b.sandbox(calls["RunPodSandbox"])
	b.pulls(calls["PullImage"])
	b.containers(calls["CreateContainer"], calls["StartContainer"])
	b.apply()
}

// better collects better times of the phases of one Pod.
type better struct {
	out    []*span.Span
	pod    *span.Span
	phases []int
	set    map[int]edges
}

// edges are the new start and end of a phase; zero keeps the old time.
type edges struct{ start, end span.Time }

func (b *better) named(name string) []int {
	var out []int
	for _, i := range b.phases {
		if b.out[i].Name == name {
			out = append(out, i)
		}
	}
	return out
}

// sandbox: the sandbox is ready at the end of the call that created it.
func (b *better) sandbox(runs []call) {
	phases := b.named(span.NameSandbox)
	runs = slices.DeleteFunc(slices.Clone(runs), func(c call) bool { return c.failed })
	if len(phases) == 1 && len(runs) > 0 {
		b.set[phases[0]] = edges{end: runs[0].end}
	}
}

// pulls: pulls of the same image match in order, if both sides have the same number. A pull without
// an image matches only a single phase.
func (b *better) pulls(pulls []call) {
	phases := b.named(span.NamePull)
	if len(phases) == 1 && len(pulls) == 1 && pulls[0].image == "" {
		b.set[phases[0]] = edges{pulls[0].start, pulls[0].end}
		return
	}
	byImage := map[string][]int{}
	for _, i := range phases {
		image := familiar(text(b.out[i].Attributes, span.KeyImage))
		byImage[image] = append(byImage[image], i)
	}
	for image, these := range byImage {
		var same []call
		for _, p := range pulls {
			if p.image != "" && familiar(p.image) == image {
				same = append(same, p)
			}
		}
		if len(same) != len(these) {
			continue
		}
		slices.SortFunc(these, func(x, y int) int { return b.out[x].Start.Compare(b.out[y].Start.Time) })
		for k, i := range these {
			b.set[i] = edges{same[k].start, same[k].end}
		}
	}
}

// familiar returns the short form of an image's name.
func familiar(image string) string {
	image = strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
	if name := image[strings.LastIndexByte(image, '/')+1:]; !strings.ContainsAny(name, ":@") {
		image += ":latest"
	}
	return image
}

// containers: containers match by name and attempt, if the runtime reports them. Otherwise only a
// single container matches.
func (b *better) containers(creates, starts []call) {
	phases := append(b.named(span.NameInit), b.named(span.NameStart)...)
	for _, i := range phases {
		var create, start *call
		if len(phases) == 1 && len(creates) == 1 && len(starts) == 1 && creates[0].container == "" {
			create, start = &creates[0], &starts[0]
		} else if create = created(creates, b.out[i]); create != nil && create.id != "" {
			if k := slices.IndexFunc(starts, func(c call) bool { return c.id == create.id }); k >= 0 {
				start = &starts[k]
			}
		}
		if create == nil {
			continue
		}
		e := edges{start: create.start}
		if start != nil && b.out[i].Name == span.NameStart {
			e.end = start.end
		}
		b.set[i] = e
	}
}

// created returns the call that created the container of a phase.
func created(creates []call, phase *span.Span) *call {
	name, attempt := text(phase.Attributes, span.KeyContainer), "0"
	for _, kv := range phase.Attributes {
		if kv.Key == span.KeyAttempt && kv.Value.Type() == attribute.INT64 {
			attempt = strconv.FormatInt(kv.Value.AsInt64()-1, 10)
		}
	}
	for k := range creates {
		if c := &creates[k]; c.container != "" && c.container == name && c.attempt == attempt && !c.failed {
			return c
		}
	}
	return nil
}

// apply copies the phases with their new times. If one phase ends at the start of another, both
// move. No phase leaves the Pod's reconciliation or ends before it starts.
func (b *better) apply() {
	moved := map[time.Time]span.Time{}
	for _, i := range b.phases {
		if e, ok := b.set[i]; ok && !e.end.IsZero() && !b.out[i].Open() && !exact(b.out[i].End.Source) {
			moved[b.out[i].End.Time] = e.end
		}
	}
	for _, i := range b.phases {
		old, e := b.out[i], b.set[i]
		s := *old
		s.Start = b.moment(old.Start, e.start, moved)
		if !old.Open() {
			s.End = b.moment(old.End, e.end, moved)
			if s.End.Before(s.Start.Time) {
				if e.start.IsZero() {
					s.Start = s.End
				} else {
					s.End = s.Start
				}
			}
		}
		if s.Start != old.Start || s.End != old.End {
			b.out[i] = &s
		}
	}
}

// moment returns the better time if there is one, or old.
func (b *better) moment(old, known span.Time, moved map[time.Time]span.Time) span.Time {
	if exact(old.Source) {
		return old
	}
	if known.IsZero() {
		known = moved[old.Time]
	}
	switch {
	case known.IsZero():
		return old
	case known.Before(b.pod.Start.Time):
		return b.pod.Start
	case !b.pod.Open() && known.After(b.pod.End.Time):
		return b.pod.End
	}
	return known
}
