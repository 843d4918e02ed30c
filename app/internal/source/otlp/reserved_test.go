// SPDX-License-Identifier: Apache-2.0

package otlp

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	"go.opentelemetry.io/otel/attribute"
	coltracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestReserved: received spans cannot set reserved attributes.
func TestReserved(t *testing.T) {
	const kit = "github.com/kube-lifeline/lifeline/operator"
	cases := map[string]struct {
		reason string
		scope  string
		key    attribute.Key
		stays  bool
	}{
		"evidence": {
			"Lifeline decides the evidence for an edge",
			"otel/kubelet",
			span.KeyEvidence,
			false,
		},
		"outcome": {
			"Lifeline concludes the outcome of a reconciliation",
			"otel/kubelet",
			span.KeyOutcome,
			false,
		},
		"origin span": {
			"after a restart the span would have a forged ID",
			"otel/kubelet",
			span.KeyOriginSpan,
			false,
		},
		"origin parent": {
			"after a restart the span would have a forged parent", "otel/kubelet", span.KeyOriginParent,
			false,
		},
		"correction":     {"a restart would move the span in time", "otel/kubelet", span.KeyCorrection, false},
		"critical path":  {"Lifeline computes it", "otel/kubelet", span.KeyCriticalPath, false},
		"parent sampled": {"it decides which spans are exported", "otel/kubelet", span.KeyParentSampled, false},
		"user": {
			"the user comes from the API server",
			"otel/kubelet",
			span.KeyActorUser,
			false,
		},
		"anything":           {"future keys are reserved too", "otel/kubelet", "lifeline.tomorrow", false},
		"no scope":           {"a sender without a scope gets no exception", "", span.KeyEvidence, false},
		"kit's, by another":  {"a link with this mark leads to a parent", "otel/kubelet", "lifeline.link", false},
		"kit's":              {"the kit may set its own keys", kit, "lifeline.controller", true},
		"kit's link":         {"in link mode it is the only reference to the object", kit, "lifeline.link", true},
		"kit's queue":        {"the scope is a part of the kit", kit + "/queue", "lifeline.queue.adds", true},
		"not the kit's":      {"any sender can copy the kit's scope name", kit, span.KeyEvidence, false},
		"not the kit's, too": {"a part of the kit may not set it either", kit + "/queue", span.KeyCorrection, false},
		"like the kit":       {"a scope with a similar name is not the kit", kit + "s", "lifeline.controller", false},
		"our own":            {"Lifeline's own spans stay as they are", span.ScopeName, span.KeyEvidence, true},
		"audit-id": {
			"attributes of components are needed to join them",
			"otel/apiserver",
			"audit-id",
			true,
		},
		"object": {
			"an operator may name the object that it works on", "otel/operator", span.KeyKind, true,
		},
		"nearly the prefix":   {"a similar key is not reserved", "otel/kubelet", "lifelines.evidence", true},
		"the prefix in a map": {"keys inside a value are not read", "otel/kubelet", "outer", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			put := func(m pcommon.Map) {
				m.PutStr("before", "x")
				if tc.key == "outer" {
					m.PutEmptyMap("outer").PutStr("lifeline.evidence", "request")
				} else {
					m.PutStr(string(tc.key), "forged")
				}
				m.PutStr("after", "x")
			}
			td := ptrace.NewTraces()
			ss := td.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
			ss.Scope().SetName(tc.scope)
			s := ss.Spans().AppendEmpty()
			s.SetTraceID(pcommon.TraceID{1})
			s.SetSpanID(pcommon.SpanID{2})
			s.SetStartTimestamp(pcommon.NewTimestampFromTime(epoch))
			s.SetEndTimestamp(pcommon.NewTimestampFromTime(epoch))
			put(s.Attributes())
			put(s.Events().AppendEmpty().Attributes())
			l := s.Links().AppendEmpty()
			l.SetTraceID(pcommon.TraceID{3})
			l.SetSpanID(pcommon.SpanID{4})
			put(l.Attributes())

			want, cut := []attribute.Key{"before", "after"}, 3
			if tc.stays {
				want, cut = []attribute.Key{"before", tc.key, "after"}, 0
			}
			for encoding, body := range both(t, ptraceotlp.NewExportRequestFromTraces(td)) {
				b := decoded(t, body)
				got := b.spans[0]
				for where, attrs := range map[string][]attribute.KeyValue{
					"span":  got.Attributes,
					"event": got.Events[0].Attributes,
				} {
					if diff := cmp.Diff(want, keys(attrs)); diff != "" {
						t.Errorf("%s, %s: -want +got:\n%s", encoding, where, diff)
					}
				}
				// The reason and the evidence of a link are fields, so the order is lost.
				link := keys(got.Links[0].AllAttributes())
				sorted := cmpopts.SortSlices(func(a, b attribute.Key) bool { return a < b })
				if diff := cmp.Diff(want, link, sorted); diff != "" {
					t.Errorf("%s, link: -want +got:\n%s", encoding, diff)
				}
				if b.cut[cutReserved] != cut {
					t.Errorf("%s: %d removals are counted, want %d", encoding, b.cut[cutReserved], cut)
				}
			}
		})
	}
}

func keys(attrs []attribute.KeyValue) (out []attribute.Key) {
	for _, kv := range attrs {
		out = append(out, kv.Key)
	}
	return out
}

// TestReturned: a span that Lifeline has joined and exported is not joined again.
func TestReturned(t *testing.T) {
	sent := spantest.Joined()
	joined := 0
	for _, s := range sent.Spans {
		s.Start.Time, s.End.Time = epoch, epoch
		if s.Origin != nil {
			joined++
		}
	}
	raw, err := proto.Marshal(&coltracepb.ExportTraceServiceRequest{ResourceSpans: append(
		span.ToOTLP([]*span.Trace{sent}, ""), one(func(*tracepb.Span) {}).ResourceSpans...)})
	if err != nil {
		t.Fatal(err)
	}
	b := decoded(t, raw)
	if joined == 0 || b.cut[cutReturned] != joined {
		t.Errorf("%d spans are counted as returned, want %d", b.cut[cutReturned], joined)
	}
	others := 0
	for _, s := range b.spans {
		if s.Origin.Scope.Name != span.ScopeName {
			others++
		}
	}
	if others != 1 || len(b.spans) != len(sent.Spans)-joined+1 {
		t.Errorf("%d of %d spans belong to another component, want one", others, len(b.spans))
	}
}

// TestReservedOfResource: a resource cannot set reserved attributes either. A span with no other
// attributes has nil attributes.
func TestReservedOfResource(t *testing.T) {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("lifeline.evidence", "request")
	rs.Resource().Attributes().PutStr("service.name", "kubelet")
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetTraceID(pcommon.TraceID{1})
	s.SetSpanID(pcommon.SpanID{2})
	s.SetStartTimestamp(pcommon.NewTimestampFromTime(epoch))
	s.SetEndTimestamp(pcommon.NewTimestampFromTime(epoch))
	s.Attributes().PutStr("lifeline.evidence", "request")
	for encoding, body := range both(t, ptraceotlp.NewExportRequestFromTraces(td)) {
		b := decoded(t, body)
		got := b.spans[0]
		if diff := cmp.Diff([]attribute.Key{"service.name"}, keys(got.Origin.Resource.Attributes)); diff != "" ||
			got.Service != "kubelet" {
			t.Errorf("%s: service %q, resource -want +got:\n%s", encoding, got.Service, diff)
		}
		if got.Attributes != nil || b.cut[cutReserved] != 2 {
			t.Errorf(
				"%s: attributes %v, want none; %d removals are counted, want 2", encoding, got.Attributes,
				b.cut[cutReserved],
			)
		}
	}
}

// TestKitKeys: kitKeys has exactly the reserved keys in the operator kit's code.
func TestKitKeys(t *testing.T) {
	const kit = "../../../../operator"
	said := regexp.MustCompile(`attribute\.\w+\("(lifeline\.[a-z_.]+)"`)
	found := map[attribute.Key]bool{}
	err := filepath.WalkDir(kit, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range said.FindAllStringSubmatch(string(text), -1) {
			found[attribute.Key(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(found, kitKeys); diff != "" {
		t.Errorf("-keys in the kit +kitKeys:\n%s", diff)
	}
}
