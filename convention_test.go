// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// unsampled is goodParent without the sampled flag.
var unsampled = strings.TrimSuffix(goodParent, "1") + "0"

func TestConventions(t *testing.T) {
	const state, members = "lifeline=s:00f067aa0ba902b7;t:1767225600", "k=v"
	asMap := `{"traceparent":"` + goodParent + `","tracestate":"` + state + `","baggage":"k=v"}`
	tests := map[string]struct {
		reason         string
		convention     Convention
		want, bare     map[string]string
		state, baggage bool
	}{
		"default": {
			"each has a key of its own", Default,
			map[string]string{
				"trace.kubernetes.io/context":    goodParent,
				"trace.kubernetes.io/tracestate": state,
				"trace.kubernetes.io/baggage":    members,
			},
			map[string]string{"trace.kubernetes.io/context": unsampled}, true, true,
		},
		"kep-5915": {
			"the prefix and the name of the header", KEP5915,
			map[string]string{
				"tracing.k8s.io/traceparent": goodParent,
				"tracing.k8s.io/tracestate":  state,
				"tracing.k8s.io/baggage":     members,
			},
			map[string]string{"tracing.k8s.io/traceparent": unsampled}, true, true,
		},
		"azure-operatortrace": {
			"there is no key for baggage", AzureOperatorTrace,
			map[string]string{
				"operatortrace.azure.microsoft.com/traceparent": goodParent,
				"operatortrace.azure.microsoft.com/tracestate":  state,
			},
			map[string]string{"operatortrace.azure.microsoft.com/traceparent": unsampled}, true, false,
		},
		"tekton-taskrun": {
			"one key holds all", TektonTaskRun,
			map[string]string{"tekton.dev/taskrunSpanContext": asMap},
			map[string]string{"tekton.dev/taskrunSpanContext": `{"traceparent":"` + unsampled + `"}`}, true, true,
		},
		"tekton-pipelinerun": {
			"one key holds all", TektonPipelineRun,
			map[string]string{"tekton.dev/pipelinerunSpanContext": asMap},
			map[string]string{"tekton.dev/pipelinerunSpanContext": `{"traceparent":"` + unsampled + `"}`}, true, true,
		},
		"agent-sandbox": {
			"one key holds all", AgentSandbox,
			map[string]string{"opentelemetry.io/trace-context": asMap},
			map[string]string{"opentelemetry.io/trace-context": `{"traceparent":"` + unsampled + `"}`}, true, true,
		},
		"w3c": {
			"the bare names of the headers", W3C,
			map[string]string{"traceparent": goodParent, "tracestate": state, "baggage": members},
			map[string]string{"traceparent": unsampled}, true, true,
		},
		"jaeger": {
			"the form holds only the IDs and the sampled flag", Jaeger,
			map[string]string{"uber-trace-id": goodTrace + ":" + goodSpan + ":0:1"},
			map[string]string{"uber-trace-id": goodTrace + ":" + goodSpan + ":0:0"}, false, false,
		},
	}
	if len(tests) != len(Conventions()) {
		t.Errorf("%d conventions have tests, %d exist", len(tests), len(Conventions()))
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.convention.String() != name {
				t.Errorf("String() = %q", tt.convention)
			}
			sc := good(t, state)
			got := tt.convention.Encode(sc, bag(t, members))
			if !maps.Equal(got, tt.want) {
				t.Errorf("%s:\n got %q\nwant %q", tt.reason, got, tt.want)
			}
			bare := tt.convention.Encode(good(t, "").WithTraceFlags(0), baggage.Baggage{})
			if !maps.Equal(bare, tt.bare) {
				t.Errorf("%s, unsampled and alone:\n got %q\nwant %q", tt.reason, bare, tt.bare)
			}
			for key := range got {
				if !tt.convention.Owns(key) {
					t.Errorf("Owns(%q) = false for a key that Encode writes", key)
				}
			}
			if tt.convention.Owns("") || tt.convention.Owns("app.kubernetes.io/name") {
				t.Error("Owns = true for a key that Encode does not write")
			}
			if !tt.state {
				sc = sc.WithTraceState(trace.TraceState{})
			}
			ctx := Context(t.Context(), annotated(got), tt.convention)
			if back := trace.SpanContextFromContext(ctx); !back.Equal(sc) {
				t.Errorf("round trip: got %v, want %v", back, sc)
			}
			if b := baggage.FromContext(ctx); (b.String() == members) != tt.baggage {
				t.Errorf("round trip: baggage = %q", b)
			}
			if back := Extract(annotated(bare), tt.convention); !back.IsValid() || back.IsSampled() {
				t.Errorf("round trip of an unsampled context: got %v", back)
			}
			if m := tt.convention.Encode(trace.SpanContext{}, bag(t, members)); m != nil {
				t.Errorf("Encode of an invalid context = %q", m)
			}
		})
	}
}

// TestReadForeign reads contexts in the formats of other projects.
func TestReadForeign(t *testing.T) {
	census, err := hex.DecodeString("0000" + goodTrace + "01" + goodSpan + "0201")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason string
		obj    annotated
		by     Convention
		want   string // traceparent
		state  string
	}{
		"Tekton": {
			"a PipelineRun of Tekton's own tests",
			annotated{
				"tekton.dev/pipelinerunSpanContext": `{"traceparent":` +
					`"00-0f57e147e992b304d977436289d10628-73d5909e31793992-01"}`,
			},
			TektonPipelineRun,
			"00-0f57e147e992b304d977436289d10628-73d5909e31793992-01",
			"",
		},
		"TektonBoth": {
			"a TaskRun also inherits its PipelineRun's context; its own has priority",
			annotated{
				"tekton.dev/pipelinerunSpanContext": `{"traceparent":"` + twinParent + `"}`,
				"tekton.dev/taskrunSpanContext":     `{"traceparent":"` + goodParent + `"}`,
			},
			TektonTaskRun, goodParent, "",
		},
		"AgentSandboxPython": {
			"Python's json.dumps adds spaces",
			annotated{"opentelemetry.io/trace-context": `{"traceparent": "` + goodParent + `", "tracestate": "a=1"}`},
			AgentSandbox, goodParent, "a=1",
		},
		"AgentSandboxEmpty": {
			"without a span, the controller writes an empty map",
			annotated{"opentelemetry.io/trace-context": `{}`}, Convention{}, "", "",
		},
		"OtherKeys": {
			"other keys and types are ignored",
			annotated{
				"opentelemetry.io/trace-context": `{"b3":"1-2-1","n":1,"tracestate":7,"l":[{}],` +
					`"traceparent":"` + goodParent + `"}`,
			},
			AgentSandbox,
			goodParent,
			"",
		},
		"HeaderCase": {
			"a propagator for HTTP writes header names",
			annotated{"opentelemetry.io/trace-context": `{"Traceparent":"` + goodParent + `","TRACESTATE":"a=1"}`},
			AgentSandbox, goodParent, "a=1",
		},
		"Azure": {
			"the tracestate has the time of the write",
			annotated{
				"operatortrace.azure.microsoft.com/traceparent": goodParent,
				"operatortrace.azure.microsoft.com/tracestate":  "operatortrace_ts=2026-01-01T00:00:00.123456789Z,a=1",
			},
			AzureOperatorTrace, goodParent, "operatortrace_ts=2026-01-01T00:00:00.123456789Z,a=1",
		},
		"OVN": {
			"a Pod for OVN-Kubernetes has only the traceparent key",
			annotated{
				"tracing.k8s.io/traceparent": goodParent,
				"k8s.ovn.org/pod-networks":   "{}",
			},
			KEP5915,
			goodParent,
			"",
		},
		"Keptn": {"the plain header name", annotated{"traceparent": goodParent, "tracestate": ""}, W3C, goodParent, ""},
		"Census": {
			"base64 of OpenCensus' binary form",
			annotated{ContextKey: base64.StdEncoding.EncodeToString(census)},
			Default,
			goodParent,
			"",
		},
		"CensusState": {
			"tracestate and baggage keys are read as usual",
			annotated{
				ContextKey: base64.StdEncoding.EncodeToString(census),
				StateKey:   "a=1",
			},
			Default,
			goodParent,
			"a=1",
		},
		"CensusElsewhere": {
			"the binary form is read only under Default's key",
			annotated{"traceparent": base64.StdEncoding.EncodeToString(census)}, Convention{}, "", "",
		},
		"Jaeger": {
			"a client of Jaeger's",
			annotated{"uber-trace-id": goodTrace + ":" + goodSpan + ":53995c3f42cd8ad8:1"},
			Jaeger,
			goodParent,
			"",
		},
		"JaegerShort": {
			"leading zeros are omitted; a trace ID may have 64 bits",
			annotated{"uber-trace-id": "6e0c63257de34c92:f067aa0ba902b7:0:0"},
			Jaeger, "00-00000000000000006e0c63257de34c92-00f067aa0ba902b7-00", "",
		},
		"JaegerShortest": {
			"one digit is enough",
			annotated{"uber-trace-id": "a:B:0:3"},
			Jaeger,
			"00-0000000000000000000000000000000a-000000000000000b-01",
			"",
		},
		"JaegerEscaped": {
			"colons may be escaped for a header",
			annotated{"uber-trace-id": goodTrace + "%3A" + goodSpan + "%3a0%3A1"},
			Jaeger,
			goodParent,
			"",
		},
		"Random": {
			"the random flag of W3C level 2 is kept, other flags are dropped",
			annotated{
				ContextKey: strings.TrimSuffix(goodParent, "01") + "ff",
			},
			Default,
			strings.TrimSuffix(goodParent, "01") + "03",
			"",
		},
		"Later": {
			"the known fields of a later version are read",
			annotated{ContextKey: "cc" + goodParent[2:] + "-what-comes"}, Default, goodParent, "",
		},
		"LaterSame": {
			"a later version may have no further fields",
			annotated{ContextKey: "01" + goodParent[2:]},
			Default,
			goodParent,
			"",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			sc, by := Find(tt.obj)
			if by != tt.by {
				t.Fatalf("%s: convention = %q, want %q", tt.reason, by, tt.by)
			}
			if by == (Convention{}) {
				return
			}
			if got := formatParent(sc); got != tt.want {
				t.Errorf("%s: traceparent = %s, want %s", tt.reason, got, tt.want)
			}
			if got := sc.TraceState().String(); got != tt.state {
				t.Errorf("%s: tracestate = %q, want %q", tt.reason, got, tt.state)
			}
			if !sc.IsRemote() {
				t.Errorf("%s: the span context is not remote", tt.reason)
			}
		})
	}
}

// TestBounds encodes contexts at and over the size limits; the result must be readable.
func TestBounds(t *testing.T) {
	var state trace.TraceState
	for i := range 32 {
		var err error
		state, err = state.Insert("k"+string(rune('a'+i%26))+string(rune('a'+i/26)), strings.Repeat(`"\`, 40))
		if err != nil {
			t.Fatal(err)
		}
	}
	sc := good(t, "").WithTraceState(state)
	long := bag(t, "k="+strings.Repeat("<", maxBaggage-2))
	if n := len(long.String()); n != maxBaggage {
		t.Fatalf("test setup: the baggage has %d bytes", n)
	}
	for _, c := range Conventions() {
		t.Run(c.String(), func(t *testing.T) {
			ctx := Context(t.Context(), annotated(c.Encode(sc, long)), c)
			back := trace.SpanContextFromContext(ctx)
			if back.SpanID() != sc.SpanID() {
				t.Fatal("Extract cannot read the annotations of Encode")
			}
			if c == Jaeger {
				return
			}
			got := strings.Split(back.TraceState().String(), ",")
			all := strings.Split(state.String(), ",")
			if len(got) != maxState/(len(all[0])+1) || !slices.Equal(got, all[:len(got)]) {
				t.Errorf("tracestate keeps %d of %d members:\n%q", len(got), len(all), got)
			}
			if c != AzureOperatorTrace && baggage.FromContext(ctx).String() != long.String() {
				t.Error("the baggage differs after a round trip")
			}
		})
	}
}
