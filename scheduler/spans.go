// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"

	"go.opentelemetry.io/otel/trace"
	fwk "k8s.io/kube-scheduler/framework"
)

// spans encodes the spans of finished attempts, one after the other.
type spans struct {
	*attempt
	*wire
	cleaned cleaner
	// made counts the spans of the attempt.
	made int
	// calls and skipped are reused memory of callsOf.
	calls   []*call
	skipped []string
}

// newSpanID returns a random ID of a span.
func newSpanID() (id trace.SpanID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64()) //nolint:gosec // no secret
	}
	return id
}

// newTraceID returns a random ID of a trace.
func newTraceID() (id trace.TraceID) {
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64()) //nolint:gosec // no secret
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64()) //nolint:gosec // no secret
	}
	return id
}

// Flags of a span (opentelemetry/proto/trace/v1/trace.proto): the bit of W3C for sampled, and whether
// the parent is remote.
const (
	flagSampled     = 0x001
	flagRemoteKnown = 0x100
	flagRemote      = 0x200
)

// begin begins a span, and returns its ID, and its start for shutSpan. Times are in nanoseconds since 1970.
func (s *spans) begin(name string, parent trace.SpanID, from, to int64) (trace.SpanID, int) {
	id, start := s.beginFixed(parent, from, to)
	s.text(fieldName, name)
	s.number(fieldKind, kindInternal)
	return id, start
}

// beginFixed is begin without the name.
func (s *spans) beginFixed(parent trace.SpanID, from, to int64) (trace.SpanID, int) {
	s.made++
	id := newSpanID()
	start := s.openSpan()
	s.head(id, parent, from, to)
	s.flags(flagSampled | flagRemoteKnown)
	return id, start
}

func (s *spans) head(id, parent trace.SpanID, from, to int64) {
	s.bytes(fieldTraceID, s.trace[:])
	s.bytes(fieldSpanID, id[:])
	if parent.IsValid() {
		s.bytes(fieldParent, parent[:])
	}
	if s.state.Len() > 0 {
		s.text(fieldTraceState, s.state.String())
	}
	s.fixed64(fieldStart, bits(from))
	s.fixed64(fieldEnd, bits(to))
}

// fixedPart returns the encoded name, kind and attributes of a plugin's span.
func fixedPart(at point, plugin string) []byte {
	var w wire
	w.text(fieldName, pointNames[at]+" "+plugin)
	w.number(fieldKind, kindInternal)
	w.string(keyPoint, pointNames[at])
	w.string(keyPlugin, plugin)
	return slices.Clone(w.encoded())
}

// encode appends all spans of an attempt, and returns their number.
func (s *spans) encode(a *attempt, w *wire) int {
	s.attempt, s.wire, s.made = a, w, 0
	root := newSpanID()
	s.root(root)
	s.wait(root)
	end := s.cycleEnd
	if end == 0 {
		end = s.ended
	}
	s.cycle(nameCycle, root, interval{0, end, nil}, false)
	if s.bindingStart > 0 {
		s.cycle(nameBinding, root, interval{s.bindingStart, s.ended, nil}, true)
	}
	s.attempt, s.wire = nil, nil
	return s.made
}

// root encodes the span of the attempt. Lifeline joins it to its Pod by the UID.
func (s *spans) root(id trace.SpanID) {
	s.made++
	span := s.openSpan()
	s.head(id, s.parent, s.queue.since.UnixNano(), s.at(s.ended))
	flags := uint32(flagSampled | flagRemoteKnown)
	if s.parent.IsValid() {
		flags |= flagRemote
	}
	s.flags(flags)
	s.text(fieldName, nameAttempt)
	s.number(fieldKind, kindInternal)
	s.string(keyPodUID, string(s.pod.UID))
	s.string(keyPodName, s.pod.Name)
	s.string(keyNamespace, s.pod.Namespace)
	s.string(keyProfile, s.profile.ProfileName())
	s.int(keyAttempt, int64(s.queue.number))
	s.string(keyOutcome, s.outcome)
	if s.result.SuggestedHost != "" {
		s.string(keyNode, s.result.SuggestedHost)
	}
	if s.nominated != "" {
		s.string(keyNominated, s.nominated)
	}
	if len(s.rejectors) > 0 {
		slices.Sort(s.rejectors)
		s.strings(keyRejectors, s.rejectors)
	}
	if s.outcome != outcomeBound {
		s.failed(s.cleaned.text(s.message))
	}
	s.shutSpan(span)
}

// wait encodes the span of the wait in the queue, and those of its gates.
func (s *spans) wait(parent trace.SpanID) {
	q := s.queue
	id, span := s.begin(nameWait, parent, q.since.UnixNano(), s.at(0))
	if !q.gated.IsZero() {
		s.float(keyGated, q.gated.Sub(q.since).Seconds())
		s.event(eventUngated, q.gated)
	}
	if !q.moved.at.IsZero() {
		s.string(keyMoveEvent, q.moved.event)
		s.string(keyMovePlugin, q.moved.plugin)
		if q.moved.object != "" {
			s.string(keyMoveObject, q.moved.object)
		}
		s.event(eventMoved, q.moved.at)
	}
	if !q.backoff.IsZero() {
		s.float(keyBackoff, q.backoff.Sub(q.since).Seconds())
		if q.backoff.Before(s.started) {
			s.event(eventBackoff, q.backoff)
		}
	}
	if q.flushed {
		s.bool(keyFlushed, true)
	}
	if len(q.rejectors) > 0 {
		s.strings(keyBefore, q.rejectors)
	}
	s.shutSpan(span)
	for _, g := range q.gates {
		s.gate(id, g)
	}
}

// gate encodes the span of a gate: from the first call of the plugin to the one that let the Pod pass.
func (s *spans) gate(parent trace.SpanID, g gate) {
	until := g.until
	if until.IsZero() {
		until = s.started
	}
	_, span := s.begin(pointPreEnqueue+" "+g.plugin, parent, g.since.UnixNano(), until.UnixNano())
	s.string(keyPoint, pointPreEnqueue)
	s.string(keyPlugin, g.plugin)
	if g.message != "" {
		s.string(keyMessage, s.cleaned.text(g.message))
	}
	s.shutSpan(span)
}

// cycle encodes the span of the scheduling or the binding cycle, with its extension points.
func (s *spans) cycle(name string, parent trace.SpanID, in interval, binding bool) {
	id, span := s.begin(name, parent, s.at(in.start), s.at(in.end))
	s.shutSpan(span)
	for p := range points {
		if s.inBinding(p) == binding {
			s.point(id, p)
		}
	}
}

// inBinding reports whether an extension point ran in the binding cycle. Both cycles can end with
// Unreserve.
func (s *spans) inBinding(p point) bool {
	if p == pointUnreserve {
		return s.bindingStart > 0 && s.points[p].start >= s.bindingStart
	}
	return p.binding()
}

// point encodes the span of an extension point, with its plugins. A point without a plugin for the
// Pod has none.
func (s *spans) point(parent trace.SpanID, p point) {
	in := s.points[p]
	if in.end == 0 {
		return
	}
	calls, skipped := s.callsOf(p)
	var extended []*extension
	for _, x := range s.extended {
		if x.point == p {
			extended = append(extended, x)
		}
	}
	if len(calls)+len(skipped)+len(extended) == 0 && in.status.IsSuccess() && p != pointWaitOnPermit {
		return
	}
	id, span := s.begin(pointNames[p], parent, s.at(in.start), s.at(in.end))
	s.string(keyPoint, pointNames[p])
	if len(skipped) > 0 {
		s.strings(keySkipped, skipped)
	}
	s.status(in.status)
	switch p {
	case pointFilter:
		s.filtered()
	case pointScore:
		s.scores()
	}
	s.shutSpan(span)
	reached := s.nodes.Load()
	for _, c := range calls {
		n := c.timed.Load()
		switch p {
		case pointFilter: // a plugin has the nodes that those before it left
			n = reached
			reached -= int64(c.rejections.nodes)
		case pointScore:
			n = int64(s.scored)
		}
		s.call(id, c, n)
	}
	for _, x := range extended {
		s.extension(id, x)
	}
}

// callsOf returns the plugins that ran at an extension point, and those that had nothing to do. The
// next call reuses their memory.
func (s *spans) callsOf(p point) (calls []*call, skipped []string) {
	calls, skipped = s.calls[:0], s.skipped[:0]
	reached := s.nodes.Load()
	for _, c := range s.twin.at[p] {
		switch {
		case p == pointFilter:
			if reached > 0 && !s.unfiltered.Has(c.plugin) {
				calls = append(calls, c)
				reached -= int64(c.rejections.nodes)
			}
		case !c.ran():
		case c.skipped():
			skipped = append(skipped, c.plugin)
		default:
			calls = append(calls, c)
		}
	}
	s.calls, s.skipped = calls, skipped
	return calls, skipped
}

// filtered appends the numbers of nodes.
func (s *spans) filtered() {
	s.int(keyEvaluated, s.nodes.Load())
	s.int(keyFeasible, int64(s.result.FeasibleNodes))
	if s.allNodes > 0 {
		s.int(keyAllNodes, int64(s.allNodes))
	}
}

// scores appends the winner and the runner-up.
func (s *spans) scores() {
	if s.choice.winner.Name == "" {
		return
	}
	s.string(keyNode, s.choice.winner.Name)
	s.int(keyScore, s.choice.winner.TotalScore)
	s.int(keyEqual, int64(s.choice.equal))
	s.int(keyEvaluated, int64(s.choice.nodes))
	if s.choice.second.Name != "" {
		s.string(keySecondNode, s.choice.second.Name)
		s.int(keySecondScore, s.choice.second.TotalScore)
	}
}

// call encodes the span of a plugin.
func (s *spans) call(parent trace.SpanID, c *call, calls int64) {
	from, to := c.first.Load(), c.last.Load()
	if from == 0 { // no call with a time
		from = s.points[c.point].start
		to = from
	}
	_, span := s.beginFixed(parent, s.at(from), s.at(max(from, to)))
	s.raw(c.fixed)
	s.int(keyCalls, calls)
	if c.timed.Load() > 0 {
		s.float(keyDuration, c.duration(calls))
	}
	switch c.point {
	case pointPreFilter:
		if c.kept >= 0 {
			s.int(keyKept, int64(c.kept))
		}
	case pointFilter:
		c.rejections.encode(s.wire, &s.cleaned)
		if c.status.Code() == fwk.Error {
			s.status(c.status)
		}
	case pointPostFilter:
		if c.preemption != nil {
			chosen := "" // another plugin may have nominated a node
			if c.status.IsSuccess() {
				chosen = s.nominated
			}
			c.preemption.narrow(s.extended, from, to)
			c.preemption.encode(s.wire, chosen)
		}
	case pointScore:
		if points, ok := scoreOf(&s.choice.winner, c.plugin); ok {
			s.int(keyScore, points)
		}
		if points, ok := scoreOf(&s.choice.second, c.plugin); ok {
			s.int(keySecondScore, points)
		}
	}
	if c.point != pointFilter {
		s.status(c.status)
	}
	s.shutSpan(span)
}

// extension encodes the span of an extender's call.
func (s *spans) extension(parent trace.SpanID, x *extension) {
	_, span := s.begin(pointNames[x.point]+" "+nameExtender, parent, s.at(x.start), s.at(x.end))
	s.string(keyPoint, pointNames[x.point])
	s.string(keyExtender, x.extender)
	if x.nodes >= 0 {
		s.int(keyEvaluated, int64(x.nodes))
	}
	if x.rejections != nil {
		x.rejections.encode(s.wire, &s.cleaned)
	}
	if points, ok := x.scores[s.choice.winner.Name]; ok {
		s.int(keyScore, points)
	}
	if points, ok := x.scores[s.choice.second.Name]; ok {
		s.int(keySecondScore, points)
	}
	if x.err != nil {
		s.failed(s.cleaned.text(x.err.Error()))
	}
	s.shutSpan(span)
}

// status appends a status that is no success. Only an error makes the span failed: a rejection is an
// answer.
func (s *spans) status(status *fwk.Status) {
	if status.IsSuccess() {
		return
	}
	text := s.cleaned.text(status.Message())
	s.string(keyStatus, status.Code().String())
	if status.Code() == fwk.Error {
		s.failed(text)
	} else if text != "" {
		s.string(keyMessage, text)
	}
}

// scoreOf returns the weighted score that a plugin gave to a node.
func scoreOf(of *fwk.NodePluginScores, plugin string) (int64, bool) {
	for _, s := range of.Scores {
		if s.Name == plugin {
			return s.Score, true
		}
	}
	return 0, false
}
