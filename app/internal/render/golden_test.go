// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

var now = spantest.Epoch.Add(20 * time.Second)

func TestGolden(t *testing.T) {
	type draw func(io.Writer, []*span.Trace, render.Options) error
	cases := map[string]struct {
		reason string
		draw   draw
		traces []*span.Trace
		o      render.Options
	}{
		"tree-apply-60": {
			"no room for bars: labels and times stay", render.Tree, one(spantest.Apply()), render.Options{Width: 60},
		},
		"tree-apply-100": {"as in the README", render.Tree, one(spantest.Apply()), render.Options{Width: 100}},
		"tree-apply-160": {"wide bars", render.Tree, one(spantest.Apply()), render.Options{Width: 160}},
		"summary-apply":  {"a table and the tree", render.Summary, one(spantest.Apply()), render.Options{}},
		"summary-waiting": {
			"the reason, and what to do",
			render.Summary,
			one(spantest.Unschedulable()),
			render.Options{},
		},
		"summary-hostile": {"no text is Markdown", render.Summary, one(spantest.Hostile()), render.Options{}},
		"junit-apply":     {"a test for each object", render.JUnit, one(spantest.Apply()), render.Options{}},
		"junit-waiting":   {"what is stuck has failed", render.JUnit, one(spantest.Unschedulable()), render.Options{}},
		"junit-hostile":   {"valid XML", render.JUnit, one(spantest.Hostile()), render.Options{}},
		"tree-color":      {"colours by component", render.Tree, one(spantest.Apply()), render.Options{Color: true}},
		"tree-crashloop":  {"what failed, why, once", render.Tree, one(spantest.CrashLoop()), render.Options{}},
		"tree-waiting": {
			"what it waits for, wrapped", render.Tree, one(spantest.Unschedulable()), render.Options{Width: 80},
		},
		"tree-many": {
			"siblings alike are folded, the failed and the slowest shown", render.Tree, one(spantest.Many(1000)),
			render.Options{},
		},
		"tree-healing": {
			"a second tree that says what it reacted to", render.Tree, spantest.Healing(), render.Options{},
		},
		"tree-fight": {
			"the header names the fight", render.Tree, one(spantest.Fight()), render.Options{},
		},
		"tree-aftermath": {
			"the header has what came afterwards, and the bars end with the change", render.Tree, one(worsened()),
			render.Options{Width: 160},
		},
		"table-aftermath": {"a row for it", render.Table, one(worsened()), render.Options{}},
		"tree-hostile": {
			"nothing moves the cursor, wide characters line up", render.Tree, one(spantest.Hostile()), render.Options{},
		},
		"tree-rollout": {
			"superseded, refused, two namespaces, weak evidence", render.Tree, one(spantest.Rollout()),
			render.Options{},
		},
		"tree-joined": {
			"of what others emitted, what matters, and a count", render.Tree, one(spantest.Joined()), render.Options{},
		},
		"tree-joined-full": {"all of it", render.Tree, one(spantest.Joined()), render.Options{Full: true}},
		"table-joined": {
			"one row for each span, with its evidence", render.Table, one(spantest.Joined()), render.Options{},
		},
		"json-joined": {
			"others' spans keep resource, scope and kind", render.JSON, one(spantest.Joined()), render.Options{
				Cluster: "c-1",
			},
		},
		"mermaid-causes": {
			"several parents: links within the trace and to others", render.Mermaid, one(spantest.Causes()),
			render.Options{},
		},
		"dot-causes": {"the same for Graphviz", render.DOT, one(spantest.Causes()), render.Options{}},
		"mermaid-rollout": {
			"a refused write is a node, weak evidence is a label", render.Mermaid, one(spantest.Rollout()),
			render.Options{},
		},
		"mermaid-healing": {"a link between two boxes", render.Mermaid, spantest.Healing(), render.Options{}},
		"dot-healing": {
			"a link to a trace that is not drawn", render.DOT, spantest.Healing()[1:], render.Options{},
		},
		"mermaid-many": {
			"siblings are folded as in the tree", render.Mermaid, one(spantest.Many(1000)), render.Options{},
		},
		"dot-many": {"likewise", render.DOT, one(spantest.Many(1000)), render.Options{}},
		"dot-crashloop": {
			"a stuck phase makes its Pod stuck",
			render.DOT,
			one(spantest.CrashLoop()),
			render.Options{},
		},
		"mermaid-hostile": {"no text ends its string", render.Mermaid, one(spantest.Hostile()), render.Options{}},
		"dot-hostile":     {"likewise", render.DOT, one(spantest.Hostile()), render.Options{}},
		"mermaid-none":    {"an empty flowchart", render.Mermaid, nil, render.Options{}},
		"dot-none":        {"an empty graph", render.DOT, nil, render.Options{}},
		"dot-empty":       {"a trace without spans is an empty box", render.DOT, one(&span.Trace{}), render.Options{}},
		"tree-none":       {"no trace draws nothing", render.Tree, nil, render.Options{}},
		"tree-empty":      {"a trace without spans has a header", render.Tree, one(&span.Trace{}), render.Options{}},
		"table-apply":     {"one row for each span", render.Table, one(spantest.Apply()), render.Options{}},
		"table-healing":   {"two traces", render.Table, spantest.Healing(), render.Options{}},
		"table-hostile":   {"escaped and aligned", render.Table, one(spantest.Hostile()), render.Options{}},
		"json-apply":      {"one OTLP document", render.JSON, one(spantest.Apply()), render.Options{Cluster: "c-1"}},
		"json-waiting": {
			"open spans end now, unfinished", render.JSON, one(spantest.Unschedulable()), render.Options{},
		},
		"json-hostile": {"valid UTF-8", render.JSON, one(spantest.Hostile()), render.Options{}},
		"yaml-waiting": {"the same as YAML", render.YAML, one(spantest.Unschedulable()), render.Options{}},
		"names": {"trace IDs, one a line", func(w io.Writer, traces []*span.Trace, _ render.Options) error {
			return render.Names(w, traces)
		}, spantest.Healing(), render.Options{}},
		"json-none": {"an empty document, not an empty object", render.JSON, nil, render.Options{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.o.Now = now
			var got bytes.Buffer
			if err := tc.draw(&got, tc.traces, tc.o); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			golden(t, name, tc.reason, got.Bytes())
		})
	}
}

func golden(t *testing.T, name, reason string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".out")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s: %v (run with -update to write it)", reason, err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s: -want +got:\n%s", reason, diff)
	}
}

func one(t *span.Trace) []*span.Trace { return []*span.Trace{t} }

// worsened returns a converged trace with an aftermath.
func worsened() *span.Trace {
	t := spantest.Apply()
	root := t.Root()
	a := span.Aftermath{
		Converged: root.End.Time, Window: 30 * time.Minute, Latest: root.End.Add(9 * time.Minute),
		Incidents: span.Incidents{
			Restarts: 14, Exits: []span.Exit{{Container: "app", Code: 137, Reason: "OOM\x1b[31m", Count: 14}},
		},
		BeforeWindow: 24 * time.Hour,
	}
	at := span.Time{Time: a.Latest, Source: span.TimeWatch}
	t.Spans = append(t.Spans, &span.Span{
		TraceID: t.ID, ID: span.DeriveID(t.ID, span.NameAftermath), Parent: root.ID, Name: span.NameAftermath,
		Service: "kubelet", Object: spantest.Ref("", "Pod", "web-6cf-x7"), Start: at, End: at, Message: a.Text(),
		Attributes: a.Attributes(0, 1),
	})
	return t
}
