// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// cluster is the UID of the synthetic cluster.
const cluster = "6f1c52a0-0000-4000-8000-000000000030"

// writer makes the traces of a month, one after the other. Times are relative to the start of the trace.
type writer struct {
	month  month
	r      *rand.Rand
	plan   []planned
	traces []*span.Trace

	// trace is the present one, and at its start.
	trace *span.Trace
	at    time.Time
	// version is the last resourceVersion.
	version int64
}

// begin begins a trace.
func (w *writer) begin(at time.Time) {
	w.at = at
	seed, number := strconv.FormatUint(w.month.Seed, 10), strconv.Itoa(len(w.traces))
	w.trace = &span.Trace{ID: span.DeriveTraceID("history", seed, number)}
}

// finish ends the trace, and returns its end.
func (w *writer) finish(outcome span.Outcome, text string) time.Time {
	w.trace.Outcome, w.trace.Reason = outcome, text
	w.trace.Spans = span.TreeOrder(w.trace.Spans)
	w.traces = append(w.traces, w.trace)
	return w.trace.Root().End.Time
}

func (w *writer) ref(of object.Kind, namespace, name string) object.Ref {
	id := span.DeriveTraceID("uid", of.Kind, namespace, name).String()
	uid := strings.Join([]string{id[:8], id[8:12], "4" + id[13:16], "8" + id[17:20], id[20:]}, "-")
	return object.Ref{Kind: of, Namespace: namespace, Name: name, UID: types.UID(uid)}
}

func (w *writer) moment(after time.Duration) span.Time {
	return span.Time{Time: w.at.Add(after), Source: span.TimeWatch}
}

// after returns the end of a span.
func (w *writer) after(s *span.Span) time.Duration { return s.End.Sub(w.at) }

func (w *writer) end(s *span.Span, after time.Duration) { s.End = w.moment(after) }

func (w *writer) span(up *span.Span, name, service string, of object.Ref, from time.Duration) *span.Span {
	s := &span.Span{
		TraceID: w.trace.ID, ID: span.DeriveID(w.trace.ID, strconv.Itoa(len(w.trace.Spans))),
		Name: name, Service: service, Object: of, Start: w.moment(from),
	}
	if up != nil {
		s.Parent = up.ID
	}
	w.trace.Spans = append(w.trace.Spans, s)
	return s
}

// reconcile adds the reconciliation of an object. It has no end yet.
func (w *writer) reconcile(
	up *span.Span, of object.Kind, service, namespace, name string, from time.Duration, outcome span.Outcome,
) *span.Span {
	return w.reconcileOf(up, w.ref(of, namespace, name), service, from, outcome)
}

func (w *writer) reconcileOf(
	up *span.Span, of object.Ref, service string, from time.Duration, outcome span.Outcome,
) *span.Span {
	s := w.span(up, span.ReconcileName(of.Kind.Kind), service, of, from)
	s.Outcome, s.Facts = outcome, &span.Facts{}
	if up != nil {
		s.Evidence = span.ByOwner
	}
	return s
}

// phase adds a phase of a Pod.
func (w *writer) phase(pod *span.Span, name string, ref object.Ref, from, to time.Duration) *span.Span {
	s := w.span(pod, name, "kubelet", ref, from)
	w.end(s, to)
	return s
}

const (
	// nodes is the number of Nodes. The last spotNodes are in the pool spot: each pull takes spotSlowdown times as long.
	nodes, spotNodes = 8, 3
	spot             = "spot"
	spotSlowdown     = 1.5
	// waiting: one of that many Pods waits for a new Node.
	waiting = 50
)

// place sets the Node and the image of a Pod.
func (w *writer) place(pod *span.Span, image string) {
	n := w.r.IntN(nodes)
	node, zone := fmt.Sprintf("node-%d", n), "zone-"+string(rune('a'+n%3))
	pod.Facts.Pod = &span.PodFacts{Volumes: 1, Node: node, Zone: zone, Images: []string{image}}
	pool := "general"
	if n >= nodes-spotNodes {
		pool = spot
	}
	pod.Attributes = append(pod.Attributes, span.KeyNode.String(node), span.KeyZone.String(zone),
		span.KeyNodePool.String(pool))
}

// write adds the first write of an object, and returns its facts.
func (w *writer) write(s *span.Span, verb string, by author, after time.Duration) *span.Write {
	w.version++
	version, at := 10_000+w.version, w.at.Add(after)
	what := []attribute.KeyValue{
		span.KeyVerb.String(verb), span.KeyPart.String("desired"), span.KeyRV.Int64(version),
		span.KeyActor.String(by.actor),
	}
	s.Attributes = append(s.Attributes, span.KeyActor.String(by.actor))
	if by.user != "" {
		user := []attribute.KeyValue{span.KeyActorUser.String(by.user), span.KeyUserSource.String(span.UserAudit)}
		what, s.Attributes = append(what, user...), append(s.Attributes, user...)
	}
	s.Events = append(s.Events, span.Event{Time: at, Name: span.EventWrite, Attributes: what})
	s.Facts.Verb = verb
	s.Facts.Writes = append(s.Facts.Writes, span.Write{
		Verb: verb, Part: "desired", ResourceVersion: version, Actor: by.actor, User: by.user,
		Start: at, End: at, Source: span.TimeWatch,
	})
	return &s.Facts.Writes[len(s.Facts.Writes)-1]
}

// hash returns that many characters of a hash, in the form of generated names.
func hash(length int, parts ...string) string {
	const letters = "bcdfghjklmnpqrst"
	id := span.DeriveTraceID(append([]string{"name"}, parts...)...)
	return strings.Map(func(digit rune) rune {
		return rune(letters[strings.IndexRune("0123456789abcdef", digit)])
	}, hex.EncodeToString(id[:])[:length])
}
