// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

var now = spantest.Epoch.Add(time.Minute)

// TestLaterReason: a change that had ended before the reason is not named as its cause.
func TestLaterReason(t *testing.T) {
	a := Answer{
		Object: spantest.Ref("batch", "CronJob", "work"),
		State:  State(span.Converged),
		Start:  spantest.Epoch,
		End:    spantest.Epoch,
		Cause: Cause{
			Who:    "kubectl",
			Verb:   "update",
			Object: spantest.Ref("batch", "CronJob", "work"),
			Edits:  []string{"label x a → b"},
		},
	}
	a.Stand(reason.Reason{Category: reason.Suspended, Text: "is suspended"})
	text := a.Text(spantest.Epoch, a.Object.Namespace)
	for _, want := range []string{
		"CronJob work is held: it is suspended.\n", "Last change: kubectl changed CronJob work (label x a → b) at ",
		"Since when is not known.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %q, want %q in it", text, want)
		}
	}
	if strings.Contains(text, "Cause") {
		t.Errorf("got %q, with a cause", text)
	}
}

// TestNote: a note completes the verdict. It has a cause if the change of its field is known.
func TestNote(t *testing.T) {
	a := Answer{
		Object: spantest.Ref("autoscaling", "HorizontalPodAutoscaler", "web"), State: State(span.Converged),
		Start: spantest.Epoch, End: spantest.Epoch,
		Cause: Cause{
			Who: "jane", Verb: "update", Object: spantest.Ref("apps", "Deployment", "web"),
			Edits: []string{"replicas 2 → 0"},
		},
	}
	a.Stand(reason.Reason{Category: reason.ScaleOff, Text: "is off: Deployment web is scaled to 0", Note: true})
	const verdict = "HorizontalPodAutoscaler web converged 60s ago, in 0s.\nIt is off: Deployment web is scaled to 0.\n"
	if text := a.Text(now, a.Object.Namespace); text != verdict || a.State.Bad() {
		t.Errorf("got %q (%s), want %q", text, a.State, verdict)
	}
	a.Later, a.Since = false, spantest.Epoch
	at := clock(spantest.Epoch, now)
	want := verdict + "Cause: jane changed Deployment web (replicas 2 → 0) at " + at + ".\nSince " + at + ".\n"
	if text := a.Text(now, a.Object.Namespace); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
}

// TestExplain: the state of an object by a trace with it.
func TestExplain(t *testing.T) {
	failed := spantest.CrashLoop()
	for _, s := range failed.Spans {
		if s.Open() {
			s.End, s.Outcome = spantest.At(12300), span.Failed
		}
	}
	failed.Outcome = span.Failed
	for name, tc := range map[string]struct {
		trace  *span.Trace
		kind   string
		name   string
		state  State
		reason bool
	}{
		"Stuck":             {spantest.Unschedulable(), "Deployment", "web", Stuck, true},
		"Failed":            {failed, "Deployment", "web", State(span.Failed), true},
		"Converged":         {spantest.Apply(), "Deployment", "web", State(span.Converged), false},
		"Without its span":  {spantest.Apply(), "Deployment", "other", State(span.Converged), false},
		"Of a sibling":      {siblings(), "Pod", "web-6cf-k2", Running, true},
		"Of a stuck one":    {stuckSiblings(), "Pod", "web-6cf-k2", Stuck, true},
		"Of a part":         {applied(), "Deployment", "web", Stuck, true},
		"Below a part":      {applied(), "Pod", "web-6cf-x7", Stuck, true},
		"Of another part":   {applied(), "Deployment", "shop", State(span.Converged), false},
		"Of another object": {spantest.Unschedulable(), "ReplicaSet", "web-6cf", Stuck, true},
	} {
		t.Run(name, func(t *testing.T) {
			group := "apps"
			if tc.kind == "Pod" {
				group = ""
			}
			ref := spantest.Ref(group, tc.kind, tc.name)
			a := Explain(tc.trace, ref, spantest.Epoch.Add(time.Minute))
			if a.State != tc.state || (a.Reason != "") != tc.reason {
				t.Errorf("got %+v, want state %s", a, tc.state)
			}
			if text := a.Text(spantest.Epoch.Add(time.Minute), "default"); !strings.HasSuffix(text, "\n") ||
				strings.Contains(text, "%!") {
				t.Errorf("got %q", text)
			}
		})
	}
}

// TestReconciliation: all given fields of an object select its newest reconciliation.
func TestReconciliation(t *testing.T) {
	replaced := spantest.Unschedulable()
	var old *span.Span
	for _, s := range replaced.Spans {
		if s.Name == "reconcile Pod" {
			old = s
			break
		}
	}
	newer := *old
	newer.Object.UID, newer.ID[0], newer.Start.Time = "uid-newer", old.ID[0]+1, old.Start.Add(time.Second)
	other := newer // of another API, and the newest
	other.Object.Group, other.Object.UID, other.ID[0] = "example.com", "uid-other", newer.ID[0]+1
	other.Start.Time = newer.Start.Add(time.Second)
	replaced.Spans = append(replaced.Spans, &newer, &other)
	uid, name := object.Ref{UID: old.Object.UID}, object.Ref{Name: old.Object.Name}
	newest := old.Object
	newest.UID = ""
	for title, tc := range map[string]struct {
		of   object.Ref
		want *span.Span
	}{
		"the older of two with one name": {old.Object, old},
		"a UID alone":                    {uid, old},
		"the newest of a name":           {newest, &newer},
		"a name alone":                   {name, &newer},
		"the group":                      {object.Ref{Kind: other.Object.Kind}, &other},
		"any group":                      {object.Ref{Kind: object.Kind{Kind: "Deployment"}}, replaced.Spans[1]},
		"another group":                  {object.Ref{Kind: object.Kind{Group: "apps", Kind: "Pod"}}, nil},
		"nothing":                        {object.Ref{}, nil},
	} {
		if got := Reconciliation(replaced, tc.of); got != tc.want {
			t.Errorf("%s: got %+v, want %+v", title, got, tc.want)
		}
	}
}

// stuckSiblings is siblings with a reason of the other Pod.
func stuckSiblings() *span.Trace {
	t := siblings()
	for _, s := range t.Spans {
		if s.Object.Name == "web-6cf-k2" && s.Name == "reconcile Pod" {
			s.Attributes = append(
				s.Attributes,
				span.KeyReason.String("image_not_found"),
				span.KeyReasonMessage.String("Pod web-6cf-k2 cannot pull image web:9"),
			)
		}
	}
	return t
}

// siblings is a stuck Pod beside one on its way.
func siblings() *span.Trace {
	t := spantest.Unschedulable()
	for _, s := range t.Spans {
		if s.Object.Name == "web-6cf-x7" {
			other := *s
			other.Object = spantest.Ref("", "Pod", "web-6cf-k2")
			other.ID[0], other.Message = s.ID[0]+1, "waits for a node"
			t.Spans = append(t.Spans, &other)
			break
		}
	}
	return t
}

// applied is a command that wrote two Deployments: one has failed, web is stuck for another reason and shop
// has converged.
func applied() *span.Trace {
	t := spantest.Unschedulable()
	root := t.Root()
	for i, name := range []string{"broken", "shop"} {
		other := *t.Spans[1]
		other.Object = spantest.Ref("apps", "Deployment", name)
		other.ID[0], other.End = byte(100+i), spantest.At(50)
		other.Outcome, other.Message = span.Converged, ""
		if name == "broken" {
			other.Outcome, other.Attributes = span.Failed, root.Attributes
		}
		t.Spans = append(t.Spans, &other)
	}
	t.Spans[1].Attributes = append([]attribute.KeyValue(nil), span.KeyReason.String("image_not_found"),
		span.KeyReasonMessage.String("Pod web-6cf-x7 cannot pull"), span.KeyReasonObject.String("Pod web-6cf-x7"))
	t.Outcome, t.Reason = span.Failed, "Deployment broken has failed"
	return t
}

// TestHostileAnswer: texts of a cluster are escaped.
func TestHostileAnswer(t *testing.T) {
	hostile := spantest.Hostile()
	root := hostile.Root()
	root.End, hostile.Reason = span.Time{}, "Pod \x1b[31mred\u202e"
	root.Attributes = append(root.Attributes, span.KeyReason.String("\x1b"), span.KeyReasonNext.String("\x1b"),
		span.KeyReasonBefore.StringSlice([]string{"\x1b"}), span.KeyReasonSince.String("2026-01-02T03:04:05Z"))
	a := Explain(hostile, root.Object, now)
	if text := a.Text(now, ""); strings.ContainsAny(text, "\x1b\r\t\x07\u202e\u2066\u200b\u009b") {
		t.Errorf("not escaped: %q", text)
	}
}
