// SPDX-License-Identifier: Apache-2.0

package jaeger

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/jaeger/internal/jaeger"
)

// repeated sends the trace about the Service again, which is what a backend gets
// of a server that was killed: it is there once. Another span of the same ID,
// which no server sends, is there beside the first, or in its place. It
// returns the ID of that trace.
//
// Nobody may have asked for the trace before: to what is in memory, Jaeger adds
// its warnings with each answer, and then it is not the same any more.
func repeated(t *testing.T, s *harness.Server, backend *jaeger.Server, ns string) (id string) {
	t.Helper()
	tr := s.TraceOf(t, ns, "web-service")
	id = tr.ID
	before := references(tr)
	var text json.RawMessage
	s.API(t, "traces/"+id, &text)
	doc, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		t.Fatal(err)
	}

	// It comes with the others, and tells when they have come.
	late := addTo(doc, "amend", pcommon.SpanID{7: 1})
	send(t, backend, doc)
	harness.Eventually(t, "the repeated spans being there", func() bool {
		return slices.ContainsFunc(
			backend.Page(t, id).Spans,
			func(s jaeger.Span) bool { return s.SpanID == late.SpanID().String() },
		)
	})
	after := pageReferences(t, backend.Page(t, id))
	delete(after, late.SpanID().String())
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("trace %s on Jaeger's page, once its spans have come again (-before +after):\n%s", id, diff)
	}

	changed := ptrace.NewTraces()
	late.CopyTo(spansOf(changed).AppendEmpty())
	spansOf(changed).At(0).SetName("other")
	send(t, backend, changed)
	var there []jaeger.Span
	has := func(name string) bool {
		return slices.ContainsFunc(there, func(s jaeger.Span) bool { return s.Name == name })
	}
	harness.Eventually(t, "another span of the same ID being there", func() bool {
		there = slices.DeleteFunc(
			backend.Page(t, id).Spans,
			func(s jaeger.Span) bool { return s.SpanID != late.SpanID().String() },
		)
		return has("other")
	})
	both := len(there) == 2 && has("amend") && slices.ContainsFunc(there, func(s jaeger.Span) bool {
		return slices.ContainsFunc(
			s.Warnings,
			func(w string) bool { return strings.HasPrefix(w, "duplicate span IDs") },
		)
	})
	if instead := len(there) == 1; both != (backend.Storage == jaeger.Memory) ||
		instead != (backend.Storage == jaeger.Badger) {
		t.Errorf("with storage %q, two spans of one ID are %+v", backend.Storage, there)
	}
	return id
}

// spansOf makes room in a document for spans of a component.
func spansOf(doc ptrace.Traces) ptrace.SpanSlice {
	if doc.ResourceSpans().Len() == 0 {
		doc.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	}
	return doc.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
}

// addTo adds a span beside the first of a document.
func addTo(doc ptrace.Traces, name string, id pcommon.SpanID) ptrace.Span {
	first, s := spansOf(doc).At(0), ptrace.NewSpan()
	s.SetTraceID(first.TraceID())
	s.SetParentSpanID(first.SpanID())
	s.SetSpanID(id)
	s.SetName(name)
	s.SetStartTimestamp(first.StartTimestamp())
	s.SetEndTimestamp(first.StartTimestamp() + 1)
	s.CopyTo(spansOf(doc).AppendEmpty())
	return s
}

// send gives spans to Jaeger, which must take them.
func send(t *testing.T, backend *jaeger.Server, doc ptrace.Traces) {
	t.Helper()
	text, err := (&ptrace.JSONMarshaler{}).MarshalTraces(doc)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		"http://"+backend.HTTP+"/v1/traces",
		bytes.NewReader(text),
	)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("Jaeger answers spans with %s", res.Status)
	}
}
