// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
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

// TestWhyNoNodeFits: the scheduler's reasons, and the change that cordoned a node.
func TestWhyNoNodeFits(t *testing.T) {
	server := serve(t, "cluster-1")
	server.view.Put(t, stored, viewtest.Traces{
		Finished: []*span.Trace{shift(spantest.Cordon("node-8", 0), 45)},
		Open:     []*span.Trace{shift(spantest.Rejected(), 45)},
	})
	for name, tc := range map[string]struct{ object, output string }{
		"why-no-node": {"deploy/web", textOutput}, "why-no-node-pod": {"pod/web-6cf-x7", textOutput},
		"why-no-node-json": {"deploy/web", cli.OutputJSON},
	} {
		t.Run(name, func(t *testing.T) {
			w := Why{
				Trace: Trace{Name: tc.object, Namespace: "default", Server: cli.Server{URL: server.URL, Named: true}},
			}
			var out, log *outputText
			w.Options, out, log = asking(tc.output)
			if code, err := w.Run(t.Context()); err != nil || code != cli.CodeUnsettled {
				t.Fatalf("code %d, %v", code, err)
			}
			golden(t, name, "", server.URL, out, log)
		})
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
		s := b.Add(root, span.ReconcileName("CronJob"), "cronjob-controller", ref, 0, 10)
		at := spantest.Epoch.Add(time.Duration(41+i) * time.Minute)
		s.Facts = &span.Facts{Writes: []span.Write{{
			Verb: "update", Start: at, End: at,
			Changes: []span.FieldChange{{Path: path, Operation: span.FieldReplaced}},
		}}}
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
	for fields, want := range map[string]int{
		"spec.suspend": 42, "metadata.labels": 43, "spec.sus": 0, "": 0, "spec.paused": 44,
		"spec.suspend spec.schedule": 42, "spec.schedule spec.sus spec.suspend": 42,
	} {
		a := answer.Answer{Object: ref, Later: true}
		for _, path := range strings.Fields(fields) {
			a.Fields = append(a.Fields, reason.Field{Path: path})
		}
		blame(ctx, session, &a)
		since := spantest.Epoch.Add(time.Duration(want) * time.Minute)
		if found := want > 0; a.Later == found || found && !a.Since.Equal(since) {
			t.Errorf("%q: got since %s, later %t, want since %s", fields, a.Since, a.Later, since)
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

// TestWhyRenewed: a failed change keeps its end, and has the reason of its object with the counts of today.
func TestWhyRenewed(t *testing.T) {
	end := spantest.Epoch.Add(time.Minute)
	failed := answer.Answer{
		State: answer.State(span.Failed), Start: spantest.Epoch, End: end, Since: spantest.Epoch,
		Category: string(reason.CrashLoop), Reason: "Pod web crashes, restarted once", Next: "kubectl logs",
	}
	now := answer.Answer{
		State: answer.Stuck, Since: end, Category: string(reason.CrashLoop),
		Reason: "Pod web crashes, restarted 48 times",
	}
	got := renewed(&failed, now, cli.Target{})
	want := failed
	want.Reason = "Pod web crashes, restarted 48 times"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	now.Category = string(reason.ImagePull)
	fine := answer.Answer{State: answer.State(span.Converged), Start: asked, End: asked}
	held := answer.Answer{State: answer.Held, Category: "suspended", Reason: "Job work is suspended"}
	if got := renewed(&fine, held, cli.Target{}); got.State != answer.Held || got.Reason != held.Reason || !got.Later {
		t.Errorf("a held object: got %+v", got)
	}
	fine.Aftermath = "3 restarts in 2 min"
	if got := renewed(&fine, now, cli.Target{}); got.State != answer.Stuck || got.Aftermath != fine.Aftermath {
		t.Errorf("a broken object after a change: got %+v", got)
	}
	if diff := cmp.Diff(failed, renewed(&failed, now, cli.Target{})); diff != "" {
		t.Errorf("another reason: -want +got:\n%s", diff)
	}
}
