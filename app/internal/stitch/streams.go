// SPDX-License-Identifier: Apache-2.0

package stitch

import (
	"bytes"
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Requests that an API server hands on to a kubelet: exec, attach, port-forward,
// logs. A kubelet's server reads no context, and its span says no more than which
// container of which Pod was asked for. So its part of a request is joined to the
// API server's by that and by time, which is the one place where time joins: only
// where requests and answers can be paired in one way, and the edge says so.
// Nothing is concluded from it: no clock, and no identity.

// stream is what such a request is about.
type stream struct {
	// verb is the kubelet's: exec, attach, portForward, containerLogs.
	verb, namespace, pod string
}

// streams are such requests, as the API servers tell of them, and their answers,
// as the kubelets do.
type streams struct {
	of map[stream]*exchange
	// started are the traces of which something was handed on whose parent had not
	// come: a session may last.
	started traceSet
}

// maxStarted is how many traces each half of started remembers.
const maxStarted = 1 << 14

// exchange is all that is held of one stream: requests and answers, each with the
// container that it names, or none; and of what has gone without being paired all
// that something that is held could be mistaken for. To add and to take out costs
// the same however many there are.
type exchange struct {
	asked, answered map[*node]string
	// crowded: there were more than are paired, and none is until all have gone.
	crowded bool
	// linked are pairs that stay two traces, by each of the two.
	linked map[key]key
}

// party is a request, or an answer, and the container that it names, or none.
type party struct {
	*node
	container string
}

// group are requests and answers that may belong together.
type group struct{ asked, answered []party }

// maxExchange is how many requests of one stream, and how many answers, are paired:
// if more of them wait, each is a trace of its own.
const maxExchange = 64

func newStreams() streams {
	return streams{of: map[stream]*exchange{}, started: newTraceSet(maxStarted)}
}

// kubeletVerbs are the verbs of kubelets for the subresources of Pods.
var kubeletVerbs = map[string]string{
	"exec": "exec", "attach": "attach", "portforward": "portForward", "log": "containerLogs",
}

// streamOf reads what a request is about from its path, at a kubelet
// (/exec/{namespace}/{pod}/{container}) or at an API server
// (/api/v1/namespaces/{namespace}/pods/{pod}/exec?container={container}).
// The container is empty where none is named.
func streamOf(n *node) (st stream, container string, answered, ok bool) {
	asked := n.identity.kind == byAudit
	if kind(n.span) != trace.SpanKindServer || asked && !isStream(n.span.Name) || !asked &&
		!strings.HasPrefix(n.span.Name, "/") {
		return stream{}, "", false, false
	}
	parts := strings.Split(pathOf(n.span), "/")
	if asked {
		if len(parts) != 8 || parts[2] != "v1" || parts[3] != "namespaces" || parts[5] != "pods" ||
			kubeletVerbs[parts[7]] == "" {
			return stream{}, "", false, false
		}
		_, query, _ := strings.Cut(text(n.span.Attributes, keyTarget), "?")
		values, _ := url.ParseQuery(query) // what is malformed names nothing
		return stream{kubeletVerbs[parts[7]], parts[4], parts[6]}, values.Get("container"), false, true
	}
	if len(parts) < 4 || !isKubeletVerb(parts[1]) {
		return stream{}, "", false, false
	}
	if len(parts) > 4 {
		container = parts[len(parts)-1] // a UID may stand before it
	}
	return stream{parts[1], parts[2], parts[3]}, container, true, true
}

func isKubeletVerb(verb string) bool {
	switch verb {
	case "exec", "attach", "portForward", "containerLogs":
		return true
	}
	return false
}

// meet takes in a span that may be of a stream, and puts each answer that is held
// of it below the request that it answers.
func (s *Stitcher) meet(n *node) {
	st, container, answered, ok := streamOf(n)
	if !ok || answered && n.up != (key{}) {
		return
	}
	e := s.streams.of[st]
	if e == nil {
		e = &exchange{asked: map[*node]string{}, answered: map[*node]string{}}
		s.streams.of[st] = e
	}
	if answered {
		e.answered[n] = container
	} else {
		e.asked[n] = container
	}
	if e.crowded {
		return
	}
	e.forget(n.key)
	e.crowded, e.linked = max(len(e.asked), len(e.answered)) > maxExchange, nil
	all := group{parties(e.asked), parties(e.answered)}
	var pairs map[*node]key
	if !e.crowded {
		pairs = all.pairs()
	}
	for _, a := range all.answered {
		up := pairs[a.node]
		if up != (key{}) && s.streams.started.has(a.key.trace) {
			// Part of its trace has been handed on, and the rest may not leave that.
			if e.linked == nil {
				e.linked = map[key]key{}
			}
			e.linked[a.key], e.linked[up] = up, a.key
			up = key{}
		}
		if !a.gone && up != a.up {
			s.move(a.node, up)
		}
	}
}

// forget lets go of what has gone and cannot be mistaken for anything that is held,
// or comes again as k.
func (e *exchange) forget(k key) {
	near := func(n *node, of map[*node]string) bool {
		for other := range of {
			if !other.gone && !n.span.Start.After(other.span.End.Add(apart)) &&
				!other.span.Start.After(n.span.End.Add(apart)) {
				return true
			}
		}
		return false
	}
	for _, side := range []map[*node]string{e.asked, e.answered} {
		maps.DeleteFunc(side, func(n *node, _ string) bool {
			return n.gone && (n.key == k || !near(n, e.asked) && !near(n, e.answered))
		})
	}
}

// parties are those of one side, in the order of their IDs.
func parties(of map[*node]string) []party {
	out := make([]party, 0, len(of))
	for n, container := range of {
		out = append(out, party{n, container})
	}
	slices.SortFunc(out, func(a, b party) int {
		return cmp.Or(bytes.Compare(a.key.trace[:], b.key.trace[:]), bytes.Compare(a.key.span[:], b.key.span[:]))
	})
	return out
}

// part is called when a span of a stream goes. One that was not paired is
// remembered: what is left is not all that there was.
func (s *Stitcher) part(n *node) {
	st, _, _, ok := streamOf(n)
	e := s.streams.of[st]
	if !ok || e == nil {
		return
	}
	_, linked := e.linked[n.key]
	paired := linked || n.edge == span.ByTime
	for c := n.first; c != nil && !paired; c = c.next {
		paired = c.edge == span.ByTime
	}
	n.gone = true
	if paired || e.crowded {
		delete(e.asked, n)
		delete(e.answered, n)
	}
	if !e.holds() {
		delete(s.streams.of, st)
	}
}

// holds reports whether anything of the stream is held.
func (e *exchange) holds() bool {
	for _, side := range []map[*node]string{e.asked, e.answered} {
		for n := range side {
			if !n.gone {
				return true
			}
		}
	}
	return false
}

// linkedTo is the link from a request to its answer, or back, where the two stay
// two traces; nil for anything else.
func (s *Stitcher) linkedTo(n *node) *span.Link {
	st, _, _, ok := streamOf(n)
	if !ok || s.streams.of[st] == nil {
		return nil
	}
	other, linked := s.streams.of[st].linked[n.key]
	if !linked {
		return nil
	}
	return &span.Link{TraceID: other.trace, SpanID: other.span, Attributes: []attribute.KeyValue{
		span.KeyLink.String(linkStream), span.KeyEvidence.String(string(span.ByTime)),
	}}
}

// linkStream is said by the link between a request to a kubelet and its answer,
// where they stay two traces.
const linkStream = "stream"

// pairs says which request each answer is to, of those that can be paired in one
// way only: alone in their time, as far as clocks may differ, or each within its
// own, and none left over.
func (all group) pairs() map[*node]key {
	out := map[*node]key{}
	seen := map[*node]bool{}
	for _, a := range all.answered {
		if seen[a.node] {
			continue
		}
		g := all.around(a, seen)
		if g.lacks() {
			continue
		}
		if len(g.asked) == 1 && len(g.answered) == 1 {
			out[a.node] = g.asked[0].key
			continue
		}
		g.match(out)
	}
	return out
}

// around is all that a may be mistaken for, by way of each other: answers, and the
// requests that they may be to.
func (all group) around(a party, seen map[*node]bool) (g group) {
	seen[a.node] = true
	g.answered = []party{a}
	for i := 0; i < len(g.answered); i++ {
		for _, q := range all.asked {
			if seen[q.node] || !mayAnswer(g.answered[i], q, apart) {
				continue
			}
			seen[q.node] = true
			g.asked = append(g.asked, q)
			for _, other := range all.answered {
				if !seen[other.node] && mayAnswer(other, q, apart) {
					seen[other.node] = true
					g.answered = append(g.answered, other)
				}
			}
		}
	}
	return g
}

// lacks reports whether something of them has gone: whatever it belonged to, it is not
// known any more.
func (all group) lacks() bool {
	isGone := func(p party) bool { return p.gone }
	return slices.ContainsFunc(all.asked, isGone) || slices.ContainsFunc(all.answered, isGone)
}

// match pairs all, if there is exactly one way to do so: then there always is
// one left that has no choice.
func (all group) match(out map[*node]key) {
	if len(all.asked) != len(all.answered) {
		return
	}
	found := map[*node]key{}
	for len(all.asked) > 0 {
		a, q, ok := all.settled()
		if !ok {
			return
		}
		found[all.answered[a].node] = all.asked[q].key
		all.answered = slices.Delete(all.answered, a, a+1)
		all.asked = slices.Delete(all.asked, q, q+1)
	}
	maps.Copy(out, found)
}

// settled finds an answer that can be to one request only, or a request that can
// have but one answer.
func (all group) settled() (answer, question int, ok bool) {
	fits := func(a, q int) bool { return mayAnswer(all.answered[a], all.asked[q], closely) }
	for a := range all.answered {
		if q, one := only(len(all.asked), func(q int) bool { return fits(a, q) }); one {
			return a, q, true
		}
	}
	for q := range all.asked {
		if a, one := only(len(all.answered), func(a int) bool { return fits(a, q) }); one {
			return a, q, true
		}
	}
	return 0, 0, false
}

// only returns the one below n of which match is true, if it is but one.
func only(n int, match func(int) bool) (found int, ok bool) {
	for i := range n {
		if !match(i) {
			continue
		}
		if ok {
			return 0, false
		}
		found, ok = i, true
	}
	return found, ok
}

// By how much the clocks of an API server and a kubelet may differ; and by how much
// a request may seem to end before its answer by one clock, since the two end by
// themselves when a connection ends.
const apart, closely = time.Second, 5 * time.Millisecond

// mayAnswer reports whether a may answer q: by time, but for so much, and by
// container.
func mayAnswer(a, q party, but time.Duration) bool {
	if a.container != "" && q.container != "" && a.container != q.container {
		return false
	}
	return !a.span.Start.Before(q.span.Start.Add(-but)) && !a.span.End.After(q.span.End.Add(but))
}

// move puts an answer below another span, or below none.
func (s *Stitcher) move(a *node, up key) {
	s.uproot(a)
	a.gone, a.home = false, home{}
	a.up, a.edge = up, ""
	if up != (key{}) {
		a.edge = span.ByTime
	}
	s.plant(a)
}
