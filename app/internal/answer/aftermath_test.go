// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// worsened returns a change with two Deployments, and the aftermath of the Pods of one.
func worsened() (t *span.Trace, web, api, pod object.Ref) {
	b := spantest.New("two")
	root := b.Deployment(nil, 0, 4200)
	p := b.Pod(root, "web-1", 100, 4000)
	other := *root
	other.ID, other.Parent = span.DeriveID(b.Trace.ID, "api"), root.ID
	other.Object = spantest.Ref("apps", "Deployment", "api")
	a := span.Aftermath{
		Converged: root.End.Time, Window: 30 * time.Minute, Latest: root.End.Add(9 * time.Minute),
		BeforeWindow: 24 * time.Hour, Incidents: span.Incidents{
			Restarts: 14, Exits: []span.Exit{{Container: "app", Code: 137, Reason: "OOMKilled", Count: 14}},
		},
	}
	at := span.Time{Time: a.Latest}
	b.Trace.Outcome = span.Converged
	b.Trace.Spans = append(b.Trace.Spans, &other, &span.Span{
		TraceID: b.Trace.ID, ID: span.DeriveID(b.Trace.ID, "after"), Parent: root.ID, Name: span.NameAftermath,
		Object: p.Object, Start: at, End: at, Attributes: a.Attributes(0, 1),
	})
	return b.Trace, root.Object, other.Object, p.Object
}

// TestAftermath: the facts follow the convergence of the change, and of the workload that they are about.
func TestAftermath(t *testing.T) {
	const facts = "since then 14 restarts in 9 min (0 in the day before): container app exited with 137 (OOMKilled)."
	of, web, api, pod := worsened()
	for want, objects := range map[bool][]object.Ref{true: {{}, web}, false: {api, pod}} {
		for _, o := range objects {
			a := Explain(of, o, now)
			if got := strings.Contains(a.Text(now, "default"), "; "+facts); got != want {
				t.Errorf("%s: got %q", o.Name, a.Text(now, "default"))
			}
		}
	}
	broken := Explain(of, web, now)
	broken.Stand(reason.Reason{Category: reason.CrashLoop, Text: "crashes"})
	if text := broken.Text(now, "default"); !strings.Contains(text, "\nIts change converged; "+facts) {
		t.Errorf("a broken object: got %q", text)
	}
}
