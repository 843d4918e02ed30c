// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// TestExportsKeepEverything: what is written reads back the same, field by
// field of the protocol.
func TestExportsKeepEverything(t *testing.T) {
	traces := ptrace.NewTraces()
	resource := traces.ResourceSpans().AppendEmpty()
	resource.SetSchemaUrl("https://opentelemetry.io/schemas/1.2.0")
	resource.Resource().Attributes().PutStr("service.name", "kubelet")
	scope := resource.ScopeSpans().AppendEmpty()
	scope.Scope().SetName("scope")
	scope.Scope().SetVersion("1")
	for _, name := range []string{"kept", "dropped"} {
		s := scope.Spans().AppendEmpty()
		s.SetName(name)
		s.SetTraceID(pcommon.TraceID{1})
		s.SetSpanID(pcommon.SpanID{2})
		s.SetParentSpanID(pcommon.SpanID{3})
		s.TraceState().FromRaw("a=b")
		s.SetFlags(0x301)
		s.SetKind(ptrace.SpanKindServer)
		s.SetStartTimestamp(1795198568450140226)
		s.SetEndTimestamp(1795198568450140227)
		s.SetDroppedAttributesCount(4)
		s.Attributes().PutEmptySlice("list").AppendEmpty().SetInt(1 << 60)
		s.Events().AppendEmpty().SetName("event")
		link := s.Links().AppendEmpty()
		link.SetTraceID(pcommon.TraceID{5})
		link.SetFlags(0x300)
		s.Status().SetCode(ptrace.StatusCodeError)
	}
	want, left := Export{time.Unix(1, 2), traces}.Without(func(s ptrace.Span) bool { return s.Name() == "dropped" })
	if left != 1 {
		t.Fatalf("%d spans are left, want 1", left)
	}
	line, err := want.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseExport(line)
	if err != nil {
		t.Fatalf("%v in\n%s", err, line)
	}
	if !got.Came.Equal(want.Came) {
		t.Errorf("came %s, want %s", got.Came, want.Came)
	}
	proto := ptrace.ProtoMarshaler{}
	before, err1 := proto.MarshalTraces(want.Traces)
	after, err2 := proto.MarshalTraces(got.Traces)
	if err1 != nil || err2 != nil || !slices.Equal(before, after) {
		t.Errorf("-written +read (%v, %v):\n%s", err1, err2, cmp.Diff(before, after))
	}
}
