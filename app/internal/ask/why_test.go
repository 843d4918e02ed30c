// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestWhyGolden: the sentences about objects of a server, and the exit codes.
func TestWhyGolden(t *testing.T) {
	server := serve(t, "cluster-1")
	for name, tc := range map[string]struct {
		reason string
		object string
		output string
		code   int
	}{
		"why-stuck":     {"the newest change, with the object to blame", "deploy/web", textOutput, cli.CodeUnsettled},
		"why-itself":    {"the object itself is to blame", "pod/web-6cf-x7", textOutput, cli.CodeUnsettled},
		"why-json":      {"", "deploy/web", cli.OutputJSON, cli.CodeUnsettled},
		"why-converged": {"nothing is wrong with this object", "pod/web-6cf-p2", textOutput, cli.CodeOK},
		"why-deleted":   {"", "pod/web-6cf-k2", textOutput, cli.CodeOK},
	} {
		t.Run(name, func(t *testing.T) {
			w := Why{
				Trace: Trace{Name: tc.object, Namespace: "default", Server: cli.Server{URL: server.URL, Named: true}},
			}
			var out, log *outputText
			w.Options, out, log = asking(tc.output)
			if err := w.Validate(); err != nil {
				t.Fatal(err)
			}
			code, err := w.Run(context.Background())
			if err != nil || code != tc.code {
				t.Fatalf("%s: code %d, %v, want %d", tc.reason, code, err, tc.code)
			}
			golden(t, name, tc.reason, server.URL, out, log)
		})
	}
}

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
	a.stand(reason.Reason{Category: reason.Suspended, Text: "is suspended"})
	text := a.text(spantest.Epoch, a.Object.Namespace)
	for _, want := range []string{
		"CronJob work is stuck: it is suspended.\n", "Last change: kubectl changed CronJob work (label x a → b) at ",
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

// TestBlame: the cause of a reason is the newest change of its field, not the last change.
func TestBlame(t *testing.T) {
	server, ctx := serve(t, "cluster-1"), t.Context()
	ref := spantest.Ref("batch", "CronJob", "work")
	var batch viewtest.Traces
	for i, path := range []string{"spec.schedule", "spec.suspend", "metadata.labels.x", "spec.paused"} {
		b := spantest.New("change of " + path)
		var root *span.Span
		if path == "spec.paused" { // by a command
			root = b.Run("kubectl patch", 0, 10)
		}
		b.Add(root, span.ReconcileName("CronJob"), "cronjob-controller", ref, 0, 10,
			span.KeyFields.StringSlice([]string{path}))
		batch.Finished = append(batch.Finished, shift(b.Trace, 41+i))
	}
	server.view.Put(t, stored, batch)
	w := Why{Trace: Trace{Namespace: "default", Server: cli.Server{URL: server.URL, Named: true}}}
	w.Options, _, _ = asking(textOutput)
	session, err := w.Connect(ctx, w.Server)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	touching, err := collect(ctx, session.Client, client.Query{Object: ref}, lookBack)
	if err != nil || len(touching.Traces) != len(batch.Finished) {
		t.Fatalf("got %d traces, %v", len(touching.Traces), err)
	}
	for field, want := range map[string]int{
		"spec.suspend": 42, "metadata.labels": 43, "spec.sus": 0, "": 0, "spec.paused": 44,
	} {
		a := Answer{Object: ref, Later: true, field: field}
		w.blame(ctx, session, &a, touching.Traces)
		since := spantest.Epoch.Add(time.Duration(want) * time.Minute)
		if found := want > 0; a.Later == found || found && !a.Since.Equal(since) {
			t.Errorf("%q: got since %s, later %t, want since %s", field, a.Since, a.Later, since)
		}
	}
}

// TestWhyFails: an object without a trace, and a wrong output format.
func TestWhyFails(t *testing.T) {
	server := serve(t, "cluster-1")
	o, _, _ := asking(textOutput)
	w := Why{Trace: Trace{
		Options: o, Name: "cm/none", Namespace: "default", Server: cli.Server{URL: server.URL, Named: true},
	}}
	code, err := w.Run(context.Background())
	if code != cli.CodeError || err == nil || !strings.Contains(err.Error(), "has no trace of ConfigMap none") {
		t.Errorf("got code %d, %v", code, err)
	}
	if w.Output = cli.OutputTree; w.Validate() == nil {
		t.Error("the output format tree was accepted")
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
		"Of a sibling":      {siblings(), "Pod", "web-6cf-k2", Waiting, true},
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
			a := explain(tc.trace, ref, spantest.Epoch.Add(time.Minute))
			if a.State != tc.state || (a.Reason != "") != tc.reason {
				t.Errorf("got %+v, want state %s", a, tc.state)
			}
			if text := a.text(spantest.Epoch.Add(time.Minute), "default"); !strings.HasSuffix(text, "\n") ||
				strings.Contains(text, "%!") {
				t.Errorf("got %q", text)
			}
		})
	}
}

// stuckSiblings is siblings with a reason of the other Pod.
func stuckSiblings() *span.Trace {
	t := siblings()
	for _, s := range t.Spans {
		if s.Object.Name == "web-6cf-k2" && s.Name == "reconcile Pod" {
			s.Attributes = append(
				s.Attributes,
				span.KeyReason.String(
					"image_not_found",
				),
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
			other.Object.Name, other.ID[0], other.Message = "web-6cf-k2", s.ID[0]+1, "waits for a node"
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
		other.Object.Name, other.ID[0], other.End = name, byte(100+i), spantest.At(50)
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
	a := explain(hostile, root.Object, asked)
	if text := a.text(asked, ""); strings.ContainsAny(text, "\x1b\r\t\x07\u202e\u2066\u200b\u009b") {
		t.Errorf("not escaped: %q", text)
	}
}
