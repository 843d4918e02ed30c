// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"strings"
	"testing"
)

type annotated map[string]string

func (a annotated) GetAnnotations() map[string]string { return a }

func TestExtract(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	tests := map[string]struct {
		reason string
		obj    annotated
		trace  string
		state  string
	}{
		"none":      {"an object without annotations has no context", nil, "", ""},
		"good":      {"a W3C traceparent is read", annotated{ContextKey: good}, "4bf92f3577b34da6a3ce929d0e0e4736", ""},
		"state":     {"tracestate travels beside it", annotated{ContextKey: good, StateKey: "lifeline=x"}, "4bf92f3577b34da6a3ce929d0e0e4736", "lifeline=x"},
		"malformed": {"a malformed value counts as absent", annotated{ContextKey: "00-zz-1"}, "", ""},
		"zero":      {"an all-zero trace ID counts as absent", annotated{ContextKey: "00-" + strings.Repeat("0", 32) + "-00f067aa0ba902b7-01"}, "", ""},
		"long state": {
			"an over-long tracestate is dropped, the context kept",
			annotated{ContextKey: good, StateKey: "a=" + strings.Repeat("x", 2000)}, "4bf92f3577b34da6a3ce929d0e0e4736", "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := Extract(tt.obj)
			if got.IsValid() != (tt.trace != "") {
				t.Fatalf("%s: valid = %v", tt.reason, got.IsValid())
			}
			if tt.trace != "" && got.TraceID().String() != tt.trace {
				t.Errorf("%s: trace = %s, want %s", tt.reason, got.TraceID(), tt.trace)
			}
			if got.TraceState().String() != tt.state {
				t.Errorf("%s: tracestate = %q, want %q", tt.reason, got.TraceState(), tt.state)
			}
		})
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "lifeline=x")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, parent, state string) {
		sc := Extract(annotated{ContextKey: parent, StateKey: state})
		if sc.IsValid() && !strings.Contains(strings.ToLower(parent), sc.TraceID().String()) {
			t.Errorf("trace ID %s does not come from %q", sc.TraceID(), parent)
		}
	})
}
