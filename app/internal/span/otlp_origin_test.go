// SPDX-License-Identifier: Apache-2.0

package span_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestOriginThroughOTLP: spans of other components return with all their data, under their current
// and original IDs.
func TestOriginThroughOTLP(t *testing.T) {
	want := spantest.Joined()
	for _, s := range want.Spans {
		if s.Origin != nil {
			s.Origin.TraceState = "vendor=1"
			s.Origin.Resource.SchemaURL = "https://opentelemetry.io/schemas/1.37.0"
		}
	}
	want.Outcome = ""
	got, err := span.FromOTLP(span.ToOTLP([]*span.Trace{want}, ""))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(attribute.Value{}, trace.TraceState{}), cmpopts.EquateEmpty(),
		cmpopts.EquateComparable(attribute.Value{}), withoutFacts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	resources := map[*span.Resource]bool{}
	for _, s := range got.Spans {
		if s.Origin != nil {
			resources[s.Origin.Resource] = true
		}
	}
	if len(resources) != 4 {
		t.Errorf("%d resources for four components: spans that came together share one", len(resources))
	}
}

func TestRoot(t *testing.T) {
	joined := spantest.Joined()
	above := *joined.Spans[1]
	above.ID, above.Parent, above.Name, above.Origin = trace.SpanID{1}, trace.SpanID{}, "pipeline", &span.Origin{}
	below := *joined.Spans[0]
	below.Parent = above.ID
	cases := map[string]struct {
		reason string
		spans  []*span.Span
		want   string
	}{
		"ours":             {"what others emitted is no root beside ours", joined.Spans, "run"},
		"another's beside": {"it may have come first", append([]*span.Span{&above}, joined.Spans...), "run"},
		"ours below others'": {
			"the topmost of ours tells what the trace is about",
			append([]*span.Span{&above, &below}, joined.Spans[1:]...), "run",
		},
		"others' alone":       {"a trace that was passed on", []*span.Span{&above}, "pipeline"},
		"a part without root": {"what it is about is elsewhere", joined.Spans[1:2], ""},
		"nothing":             {"a trace of which nothing is known", nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			got := ""
			if r := (&span.Trace{Spans: tc.spans}).Root(); r != nil {
				got = r.Name
			}
			if got != tc.want {
				t.Errorf("the root is %q, want %q", got, tc.want)
			}
		})
	}
}
