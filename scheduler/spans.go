// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/kube-lifeline/lifeline/internal/message"
)

// spans makes the spans of a finished attempt.
type spans struct {
	otel trace.Tracer
	*attempt
}

// podAttributes identify the Pod. Lifeline joins an attempt to its Pod by the UID.
func podAttributes(pod *corev1.Pod) []attribute.KeyValue {
	return []attribute.KeyValue{
		keyPodUID.String(string(pod.UID)), keyPodName.String(pod.Name), keyNamespace.String(pod.Namespace),
	}
}

func (s spans) emit() {
	s.wait()
	end := s.cycleEnd
	if end == 0 {
		end = s.ended
	}
	s.cycle(nameCycle, interval{0, end, nil}, false)
	if s.bindingStart > 0 {
		s.cycle(nameBinding, interval{s.bindingStart, s.ended, nil}, true)
	}
	attributes := []attribute.KeyValue{
		keyProfile.String(s.profile.ProfileName()),
		keyAttempt.Int(s.queue.number),
		keyOutcome.String(s.outcome),
	}
	if s.result.SuggestedHost != "" {
		attributes = append(attributes, keyNode.String(s.result.SuggestedHost))
	}
	if s.nominated != "" {
		attributes = append(attributes, keyNominated.String(s.nominated))
	}
	if len(s.rejectors) > 0 {
		slices.Sort(s.rejectors)
		attributes = append(attributes, keyRejectors.StringSlice(s.rejectors))
	}
	s.root.SetAttributes(attributes...)
	if s.outcome != outcomeBound {
		s.root.SetStatus(codes.Error, message.Clean(s.message))
	}
	s.root.End(trace.WithTimestamp(s.at(s.ended)))
}

// wait makes the span of the wait in the queue.
func (s spans) wait() {
	q := s.queue
	_, span := s.otel.Start(s.ctx, nameWait, trace.WithTimestamp(q.since))
	if !q.gated.IsZero() {
		span.SetAttributes(keyGated.Float64(q.gated.Sub(q.since).Seconds()))
		span.AddEvent(eventUngated, trace.WithTimestamp(q.gated))
	}
	if !q.backoff.IsZero() {
		span.SetAttributes(keyBackoff.Float64(q.backoff.Sub(q.since).Seconds()))
		if q.backoff.Before(s.started) {
			span.AddEvent(eventBackoff, trace.WithTimestamp(q.backoff))
		}
	}
	if q.flushed {
		span.SetAttributes(keyFlushed.Bool(true))
	}
	if len(q.rejectors) > 0 {
		span.SetAttributes(keyBefore.StringSlice(q.rejectors))
	}
	span.End(trace.WithTimestamp(s.started))
}

// cycle makes the span of the scheduling or the binding cycle, with its extension points.
func (s spans) cycle(name string, in interval, binding bool) {
	ctx, span := s.otel.Start(s.ctx, name, trace.WithTimestamp(s.at(in.start)))
	for p := range points {
		if s.inBinding(p) == binding {
			s.point(ctx, p)
		}
	}
	span.End(trace.WithTimestamp(s.at(in.end)))
}

// inBinding reports whether an extension point ran in the binding cycle. Both cycles can end with
// Unreserve.
func (s spans) inBinding(p point) bool {
	if p == pointUnreserve {
		return s.bindingStart > 0 && s.points[p].start >= s.bindingStart
	}
	return p.binding()
}

// point makes the span of an extension point, with its plugins. A point without a plugin for the
// Pod has none.
func (s spans) point(ctx context.Context, p point) {
	in := s.points[p]
	if in.end == 0 {
		return
	}
	var calls []*call
	var skipped []string
	for _, c := range s.twin.calls {
		switch {
		case c.point != p || !c.ran():
		case c.skipped():
			skipped = append(skipped, c.plugin)
		default:
			calls = append(calls, c)
		}
	}
	if len(calls)+len(skipped) == 0 && in.status.IsSuccess() && p != pointWaitOnPermit {
		return
	}
	ctx, span := s.otel.Start(ctx, pointNames[p], trace.WithTimestamp(s.at(in.start)),
		trace.WithAttributes(keyPoint.String(pointNames[p])))
	if len(skipped) > 0 {
		span.SetAttributes(keySkipped.StringSlice(skipped))
	}
	setStatus(span, in.status)
	switch p {
	case pointFilter:
		s.filtered(span)
	case pointScore:
		s.scored(span)
	}
	for _, c := range calls {
		s.call(ctx, c)
	}
	span.End(trace.WithTimestamp(s.at(in.end)))
}

// filtered adds the numbers of nodes.
func (s spans) filtered(span trace.Span) {
	span.SetAttributes(keyEvaluated.Int64(s.nodes.Load()), keyFeasible.Int(s.result.FeasibleNodes))
	if s.allNodes > 0 {
		span.SetAttributes(keyAllNodes.Int(s.allNodes))
	}
}

// scored adds the winner and the runner-up.
func (s spans) scored(span trace.Span) {
	if s.choice.winner.Name == "" {
		return
	}
	span.SetAttributes(
		keyNode.String(s.choice.winner.Name),
		keyScore.Int64(s.choice.winner.TotalScore),
		keyEqual.Int(s.choice.equal),
		keyEvaluated.Int(s.choice.nodes))
	if s.choice.second.Name != "" {
		span.SetAttributes(
			keySecondNode.String(s.choice.second.Name),
			keySecondScore.Int64(s.choice.second.TotalScore))
	}
}

// call makes the span of a plugin.
func (s spans) call(ctx context.Context, c *call) {
	_, span := s.otel.Start(ctx, pointNames[c.point]+" "+c.plugin, trace.WithTimestamp(s.at(c.first.Load())))
	attributes := make([]attribute.KeyValue, 0, 8)
	attributes = append(attributes,
		keyPoint.String(pointNames[c.point]),
		keyPlugin.String(c.plugin),
		keyCalls.Int64(c.calls.Load()),
		keyDuration.Float64(c.duration()))
	switch c.point {
	case pointPreFilter:
		if c.kept >= 0 {
			attributes = append(attributes, keyKept.Int(c.kept))
		}
	case pointFilter:
		attributes = append(attributes, keyRejected.Int(c.rejected))
		s.rejections(span, c)
	case pointScore:
		if points, ok := scoreOf(&s.choice.winner, c.plugin); ok {
			attributes = append(attributes, keyScore.Int64(points))
		}
		if points, ok := scoreOf(&s.choice.second, c.plugin); ok {
			attributes = append(attributes, keySecondScore.Int64(points))
		}
	}
	if c.point != pointFilter {
		setStatus(span, c.status)
	}
	span.SetAttributes(attributes...)
	span.End(trace.WithTimestamp(s.at(c.last.Load())))
}

// rejections adds why a plugin rejected nodes.
func (s spans) rejections(span trace.Span, c *call) {
	if c.rejected == 0 {
		return
	}
	slices.SortFunc(c.reasons, func(a, b reason) int {
		if a.nodes != b.nodes {
			return b.nodes - a.nodes
		}
		return strings.Compare(a.text, b.text)
	})
	var texts, examples []string
	var counts []int
	for _, r := range c.reasons {
		texts = append(texts, message.Clean(r.text))
		counts = append(counts, r.nodes)
		examples = append(examples, strings.Join(r.examples, ", "))
	}
	span.SetAttributes(keyReasons.StringSlice(texts), keyCounts.IntSlice(counts), keyExamples.StringSlice(examples))
	if c.status.Code() == fwk.Error {
		setStatus(span, c.status)
	}
}

// setStatus adds a status that is no success. Only an error makes the span failed: a rejection is an
// answer.
func setStatus(span trace.Span, status *fwk.Status) {
	if status.IsSuccess() {
		return
	}
	text := message.Clean(status.Message())
	span.SetAttributes(keyStatus.String(status.Code().String()))
	if status.Code() == fwk.Error {
		span.SetStatus(codes.Error, text)
	} else if text != "" {
		span.SetAttributes(keyMessage.String(text))
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
