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

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Requests that an API server forwards to a kubelet: exec, attach, port-forward, logs. A kubelet's
// server reads no context, and its span names only a Pod and a container. These and the time join
// its answer to the API server's request. This is the only join by time. It requires that requests
// and answers can be paired in one way only, and the edge has evidence time. Clocks and identities
// are never derived from it.

// stream identifies the target of such requests.
type stream struct {
	// verb is the kubelet's verb: exec, attach, portForward, containerLogs.
	verb, namespace, pod string
}

// streams holds such requests, from the API servers, and their answers, from the kubelets.
type streams struct {
	of map[stream]*exchange
	// started are traces that were passed on in part, before a parent had arrived: a session may
	// take long.
	started traceSet
}

// maxStarted limits the traces in each half of started.
const maxStarted = 1 << 14

// exchange holds the requests and answers of one stream, each with its container or none. It also
// keeps unpaired spans that have left, if they could be mistaken for a held one. Adding and
// removing take constant time.
type exchange struct {
	asked, answered map[*node]string
	// crowded: there were too many to pair. None is paired until all have left.
	crowded bool
	// linked are pairs in two separate traces, by either key.
	linked map[key]key
}

// party is a request or an answer, with its container or none.
type party struct {
	*node
	container string
}

// group holds requests and answers that may belong together.
type group struct{ asked, answered []party }

// maxExchange limits the requests, and the answers, of one stream that are paired. Above it, each
// is a separate trace.
const maxExchange = 64

func newStreams() streams {
	return streams{of: map[stream]*exchange{}, started: newTraceSet(maxStarted)}
}

// kubeletVerbs maps the subresources of Pods to the kubelet's verbs.
var kubeletVerbs = map[string]string{
	"exec": "exec", "attach": "attach", "portforward": "portForward", "log": "containerLogs",
}

// streamOf parses a request's target from its path. A kubelet's path is
// /exec/{namespace}/{pod}/{container}, an API server's
// /api/v1/namespaces/{namespace}/pods/{pod}/exec?container={container}. The container is empty if
// none is named.
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
		values, _ := url.ParseQuery(query) // a malformed query names no container
		return stream{kubeletVerbs[parts[7]], parts[4], parts[6]}, values.Get("container"), false, true
	}
	if len(parts) < 4 || !isKubeletVerb(parts[1]) {
		return stream{}, "", false, false
	}
	if len(parts) > 4 {
		container = parts[len(parts)-1] // a UID may precede it
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

// meet accepts a span that may belong to a stream. It moves each held answer of the stream below
// its request.
func (s *streams) meet(n *node, f *forest) {
	st, container, answered, ok := streamOf(n)
	if !ok || answered && n.up != (key{}) {
		return
	}
	e := s.of[st]
	if e == nil {
		e = &exchange{asked: map[*node]string{}, answered: map[*node]string{}}
		s.of[st] = e
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
		if up != (key{}) && s.started.has(a.key.trace) {
			// A part of the answer's trace was passed on, and the rest must stay with it.
			if e.linked == nil {
				e.linked = map[key]key{}
			}
			e.linked[a.key], e.linked[up] = up, a.key
			up = key{}
		}
		if !a.gone && up != a.up {
			f.move(a.node, up)
		}
	}
}

// forget drops the spans that have left, if they cannot be mistaken for a held one, or if k arrives
// again.
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

// parties returns one side, ordered by ID.
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

// part is called when a span of a stream leaves. An unpaired one is recorded, because the remaining
// spans are then incomplete.
func (s *streams) part(n *node) {
	st, _, _, ok := streamOf(n)
	e := s.of[st]
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
		delete(s.of, st)
	}
}

// holds reports whether a span of the stream is held.
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

// linkedTo returns the link from a request to its answer, or back, if they are in two traces;
// otherwise nil.
func (s *streams) linkedTo(n *node) *span.Link {
	st, _, _, ok := streamOf(n)
	if !ok || s.of[st] == nil {
		return nil
	}
	other, linked := s.of[st].linked[n.key]
	if !linked {
		return nil
	}
	return &span.Link{TraceID: other.trace, SpanID: other.span, Reason: linkStream, Evidence: span.ByTime}
}

// linkStream is the reason of a link between a request to a kubelet and its answer in
// another trace.
const linkStream = "stream"

// pairs maps each answer to its request, if there is only one way to pair them. Either they are
// alone in their time, within clock differences, or each answer is within its request and none is
// left over.
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

// around returns the answers and requests that a could be confused with, directly or through
// others.
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

// lacks reports whether one of them has left, so that its partner is unknown.
func (all group) lacks() bool {
	isGone := func(p party) bool { return p.gone }
	return slices.ContainsFunc(all.asked, isGone) || slices.ContainsFunc(all.answered, isGone)
}

// match pairs all, if there is exactly one way. In that case there is always a next one with a
// single candidate.
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

// settled finds an answer with a single possible request, or a request with a single possible
// answer.
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

// only returns the one index below n for which match is true. ok is false for none or several.
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

// apart bounds the clock difference of an API server and a kubelet. closely bounds the time by
// which a request may end before its answer on one clock; the two end independently when a
// connection ends.
const apart, closely = time.Second, 5 * time.Millisecond

// mayAnswer reports whether a may answer q, by time within but, and by container.
func mayAnswer(a, q party, but time.Duration) bool {
	if a.container != "" && q.container != "" && a.container != q.container {
		return false
	}
	return !a.span.Start.Before(q.span.Start.Add(-but)) && !a.span.End.After(q.span.End.Add(but))
}
