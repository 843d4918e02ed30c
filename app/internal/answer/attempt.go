// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Attempt is the last attempt to schedule a Pod, by the spans of its scheduler. Either it has
// Rejections, or a Choice.
type Attempt struct {
	// Number is the number of the attempt, from 1, and End its end.
	Number int64     `json:"number"`
	End    time.Time `json:"end"`
	// Nodes is the number of nodes of the cluster, if none fits.
	Nodes int64 `json:"nodes,omitempty"`
	// Rejections says why no node fits, the reason of most nodes first. MoreRejections is the number
	// of further ones.
	Rejections     []Rejection `json:"rejections,omitempty"`
	MoreRejections int         `json:"moreRejections,omitempty"`
	// Choice is the choice of the node.
	Choice *Choice `json:"choice,omitempty"`
}

// Rejection is a reason of one plugin against nodes.
type Rejection struct {
	Plugin string `json:"plugin"`
	// Reason is the plugin's text. It is empty for nodes that a plugin of PreFilter left out.
	Reason string `json:"reason,omitempty"`
	// Nodes is the number of nodes with this reason; 0 stands for all, without a look at each.
	Nodes int64 `json:"nodes,omitempty"`
	// Examples are a few of these nodes.
	Examples []string `json:"examples,omitempty"`
}

// Choice is the chosen node, and the best other one.
type Choice struct {
	Node  string `json:"node"`
	Score int64  `json:"score,omitempty"`
	// Second is the best other node; "" if no other node was scored.
	Second      string `json:"second,omitempty"`
	SecondScore int64  `json:"secondScore,omitempty"`
	// Equal is the number of other nodes with the same score.
	Equal int64 `json:"equal,omitempty"`
	// Plugins made the difference to the second node, the largest part first.
	Plugins []Advantage `json:"plugins,omitempty"`
	// Evaluated is the number of filtered nodes, and Feasible that of the fitting ones.
	Evaluated int64 `json:"evaluated,omitempty"`
	Feasible  int64 `json:"feasible,omitempty"`
}

// Advantage is the number of points that a plugin gave to the chosen node more than to the second.
type Advantage struct {
	Plugin string `json:"plugin"`
	Points int64  `json:"points"`
}

// Bounds of an Attempt. The spans may be from any sender.
const (
	maxRejections = 8
	maxExamples   = 3
	maxAdvantages = 3
	maxName       = 253
)

// Attempts are the spans of the scheduler's last attempts in a trace.
type Attempts struct {
	// last has the last attempt of each Pod by its UID.
	last map[string]*span.Span
	// spans are the scheduler's spans by their parent.
	spans children
	// waits are the phases schedule by the reconciliation that they belong to.
	waits map[trace.SpanID]*span.Span
}

// children are the scheduler's spans by their parent.
type children map[trace.SpanID][]*span.Span

// AttemptsOf returns the attempts in a trace.
func AttemptsOf(t *span.Trace) *Attempts {
	x := &Attempts{last: map[string]*span.Span{}, spans: children{}, waits: map[trace.SpanID]*span.Span{}}
	for _, s := range t.Spans {
		switch {
		case s.OfScheduler():
			x.spans[s.Parent] = append(x.spans[s.Parent], s)
		case s.Origin == nil && s.Name == span.NameSchedule && x.waits[s.Parent] == nil:
			x.waits[s.Parent] = s
		}
		if !s.IsAttempt() {
			continue
		}
		pod := insight.Attribute(s, span.KeyPodUID)
		if last := x.last[pod]; last == nil || s.Start.After(last.Start.Time) {
			x.last[pod] = s
		}
	}
	return x
}

// of returns the last attempt to schedule the Pod of a reconciliation, or nil. It has the data of this attempt only.
func (x *Attempts) of(pod *span.Span) *Attempt {
	last := x.last[string(pod.Object.UID)]
	if last == nil || pod.Object.UID == "" {
		return nil
	}
	a := &Attempt{Number: insight.Number(last, span.KeyAttemptNumber), End: last.End.Time}
	switch insight.Attribute(last, span.KeyAttemptOutcome) {
	case span.AttemptBound:
		a.Choice = choiceOf(last, x.spans)
	case span.AttemptUnschedulable:
		a.reject(last, x.spans)
	}
	if a.Choice == nil && len(a.Rejections) == 0 {
		return nil
	}
	return a
}

// waiting returns the message of the phase schedule of a Pod's reconciliation, or "".
func (x *Attempts) waiting(pod *span.Span) string {
	if s := x.waits[pod.ID]; s != nil {
		return s.Message
	}
	return ""
}

// Scheduling is AttemptsOf(t).Scheduling(of). It is quick for spans that have no answer.
func Scheduling(t *span.Trace, of *span.Span) *Answer {
	if !isScheduled(of) {
		return nil
	}
	return AttemptsOf(t).Scheduling(of)
}

// isScheduled reports whether a span is a Pod's reconciliation, or its phase schedule.
func isScheduled(s *span.Span) bool {
	return s.Origin == nil && kind.Pod.Is(s.Object.Kind) && (s.IsReconciliation() || s.Name == span.NameSchedule)
}

// Scheduling answers for a Pod's reconciliation, or its phase schedule, by the spans of the last attempt. The
// answer has the attempt, and is stuck if no node fits. It is nil for any other span, and without these spans.
func (x *Attempts) Scheduling(of *span.Span) *Answer {
	if !isScheduled(of) {
		return nil
	}
	a := &Answer{Object: of.Object, State: State(of.Outcome), Start: of.Start.Time, End: of.End.Time, Attempt: x.of(of)}
	switch {
	case a.Attempt == nil:
		return nil
	case a.Attempt.Choice != nil:
		return a
	}
	message := of.Message
	if of.Name != span.NameSchedule {
		message = x.waiting(of)
	}
	if !a.Attempt.agrees(message) {
		return nil
	}
	a.State = Stuck
	return a
}

// points returns the extension points of the attempt's scheduling cycle. An attempt has one cycle.
func (c children) points(attempt *span.Span) []*span.Span {
	for _, s := range c[attempt.ID] {
		if s.Name == span.NameCycle {
			return c[s.ID]
		}
	}
	return nil
}

// pluginOf returns the plugin of a span, or "extender HOST", since an extender has no plugin; "" if it has neither.
func pluginOf(s *span.Span) string {
	name := insight.Attribute(s, span.KeyPlugin)
	if host := insight.Attribute(s, span.KeyExtender); name == "" && host != "" {
		name = "extender " + host
	}
	return object.OneLine(name, maxName)
}

// reject sets the reasons why no node fits. It sets none if a node fitted, and a later step refused it.
func (a *Attempt) reject(attempt *span.Span, spans children) {
	var all []Rejection
	var keepers []string
	var evaluated int64
	for _, point := range spans.points(attempt) {
		if insight.Number(point, span.KeyNodesFeasible) > 0 {
			return
		}
		a.Nodes = max(a.Nodes, insight.Number(point, span.KeyNodesAll))
		if point.Name != span.NamePreFilter && point.Name != span.NameFilter {
			continue
		}
		if point.Name == span.NameFilter {
			evaluated = insight.Number(point, span.KeyNodesEvaluated)
		}
		for _, s := range spans[point.ID] {
			plugin := pluginOf(s)
			switch text := insight.Attribute(s, span.KeyPluginMessage); {
			case plugin == "":
			case point.Name == span.NameFilter:
				all = append(all, rejectionsOf(s, plugin)...)
			case text != "":
				all = append(all, Rejection{Plugin: plugin, Reason: object.Bound(text)})
			case insight.Attribute(s, span.KeyNodesKept) != "":
				keepers = append(keepers, plugin)
			}
		}
	}
	if rest := a.Nodes - max(0, evaluated); len(keepers) == 1 && rest > 0 {
		all = append(all, Rejection{Plugin: keepers[0], Nodes: rest})
	}
	slices.SortStableFunc(all, func(x, y Rejection) int {
		return cmp.Or(cmp.Compare(y.Nodes, x.Nodes), strings.Compare(x.Plugin, y.Plugin))
	})
	a.Rejections = all[:min(len(all), maxRejections)]
	a.MoreRejections = len(all) - len(a.Rejections)
}

// rejectionsOf returns the reasons of a plugin of Filter.
func rejectionsOf(s *span.Span, plugin string) []Rejection {
	counts, examples := insight.Numbers(s, span.KeyRejectCounts), insight.List(s, span.KeyRejectExamples)
	var out []Rejection
	for i, text := range insight.List(s, span.KeyRejectReasons) {
		if i == len(counts) {
			break
		}
		r := Rejection{Plugin: plugin, Reason: object.Bound(text), Nodes: counts[i]}
		if r.Nodes <= 0 {
			continue
		}
		if i < len(examples) && examples[i] != "" {
			nodes := strings.Split(examples[i], ", ")
			for _, node := range nodes[:min(len(nodes), maxExamples)] {
				r.Examples = append(r.Examples, object.OneLine(node, maxName))
			}
			slices.Sort(r.Examples)
		}
		out = append(out, r)
	}
	return out
}

// choiceOf returns the choice of the node of a bound Pod, or nil.
func choiceOf(attempt *span.Span, spans children) *Choice {
	c := &Choice{Node: object.OneLine(insight.Attribute(attempt, span.KeyNode), maxName)}
	if c.Node == "" {
		return nil
	}
	var advantages int64
	for _, point := range spans.points(attempt) {
		switch point.Name {
		case span.NameFilter:
			c.Evaluated = insight.Number(point, span.KeyNodesEvaluated)
			c.Feasible = insight.Number(point, span.KeyNodesFeasible)
		case span.NameScore:
			if insight.Attribute(point, span.KeyNode) != insight.Attribute(attempt, span.KeyNode) {
				continue
			}
			c.Score, c.SecondScore = insight.Number(point, span.KeyScore), insight.Number(point, span.KeyScoreSecond)
			c.Second = object.OneLine(insight.Attribute(point, span.KeyScoreSecondNode), maxName)
			c.Equal = insight.Number(point, span.KeyScoreEqual)
			for _, s := range spans[point.ID] {
				more := insight.Number(s, span.KeyScore) - insight.Number(s, span.KeyScoreSecond)
				if more > 0 && insight.Attribute(s, span.KeyScoreSecond) != "" && c.Score > c.SecondScore {
					c.Plugins = append(c.Plugins, Advantage{pluginOf(s), more})
					advantages += more
				}
			}
		}
	}
	if advantages < c.Score-c.SecondScore {
		c.Plugins = nil // an extender or a plugin without a span has a part in the difference
	}
	slices.SortStableFunc(c.Plugins, func(x, y Advantage) int {
		return cmp.Or(cmp.Compare(y.Points, x.Points), strings.Compare(x.Plugin, y.Plugin))
	})
	c.Plugins = c.Plugins[:min(len(c.Plugins), maxAdvantages)]
	return c
}

// agrees reports whether the message of the Pod's condition is about this attempt: it has the same
// reasons and numbers of nodes. The message of a later attempt counts more than these spans.
func (a *Attempt) agrees(message string) bool {
	message, cut := strings.CutSuffix(message, "…")
	of, message, found := strings.Cut(message, "nodes are available: ")
	if !found || a.Nodes > 0 && !strings.HasSuffix(" "+of, fmt.Sprintf(" 0/%d ", a.Nodes)) {
		return false
	}
	message = ", " + strings.TrimSuffix(message, ".") + ". "
	agreed, leftOut := 0, false
	for _, r := range a.Rejections {
		if r.Reason == "" {
			leftOut = true
			continue
		}
		clause := ", " + r.Reason
		if r.Nodes > 0 {
			clause = fmt.Sprintf(", %d %s", r.Nodes, r.Reason)
		}
		before := len(message)
		if message = strings.Replace(message, clause+", ", ", ", 1); len(message) == before {
			message = strings.Replace(message, clause+". ", ". ", 1)
		}
		switch {
		case len(message) < before:
			agreed++
		case !cut:
			return false
		}
	}
	complete := strings.HasPrefix(message, ". ") // another clause means another attempt
	return agreed > 0 && (complete || cut || leftOut || a.MoreRejections > 0)
}
