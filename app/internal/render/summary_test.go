// SPDX-License-Identifier: Apache-2.0

package render

import (
	"io"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestSummaryOfSeveral: each of several objects has its reason in the summary and in the JUnit report.
func TestSummaryOfSeveral(t *testing.T) {
	trace := spantest.Unschedulable()
	other := *trace.Spans[1]
	other.Object.Name, other.ID[0] = "shop", 100
	other.Attributes = []attribute.KeyValue{span.KeyReasonMessage.String("Pod shop-1 has no image")}
	trace.Spans = append(trace.Spans, &other)
	for name, write := range map[string]func(io.Writer, []*span.Trace, Options) error{
		"summary": Summary, "junit": JUnit,
	} {
		var out strings.Builder
		if err := write(&out, []*span.Trace{trace}, Options{Now: spantest.Epoch}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"Pod shop-1 has no image", "Pod web-6cf-x7 cannot be scheduled"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: got %s, want %q in it", name, out.String(), want)
			}
		}
	}
}
