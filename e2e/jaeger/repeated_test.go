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
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/jaeger/internal/jaeger"
)

// repeated sends the trace of the Service again, like a server after a crash, and checks that
// Jaeger has it once. Then it sends a different span with the same ID, as no server does. Jaeger in
// memory has both, and with Badger only the new one. repeated returns the trace's ID.
//
// The trace must not have been read before: Jaeger in memory adds its warnings to the stored spans
// at each read, and then recognizes no repeated span.
func repeated(t *testing.T, s *harness.Server, backend *jaeger.Server, ns string) (id string) {
	t.Helper()
	tr := s.TraceOf(t, ns, "web-service")
	id = tr.ID
	var text json.RawMessage
	s.API(t, "traces/"+id, &text)
	doc, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(text)
	if err != nil {
		t.Fatal(err)
	}

	late := addTo(doc, "amend", pcommon.SpanID{7: 1})
	isLate := func(s jaeger.Span) bool { return s.SpanID == late.SpanID().String() }
	// The last span belongs to another trace: it shows the arrival of the repeated spans without a read
	// of theirs.
	last := addTo(doc, "last", pcommon.SpanID{7: 2})
	last.SetTraceID(pcommon.TraceID{0: 0xff, 15: 1})
	last.SetParentSpanID(pcommon.SpanID{})
	send(t, backend, doc)
	harness.Eventually(t, "the repeated spans in Jaeger", func() bool {
		return backend.Page(t, last.TraceID().String()) != nil
	})
	// A component's late span may be in one of the two alone at first.
	var page *jaeger.Trace
	diff := ""
	defer func() {
		if t.Failed() && diff != "" {
			t.Logf("references in trace %s (-server +Jaeger):\n%s", id, diff)
		}
	}()
	harness.Eventually(t, "each span once in Jaeger, after its repetition", func() bool {
		tr, page = s.Trace(t, id), backend.Page(t, id)
		page.Spans = slices.DeleteFunc(page.Spans, isLate)
		diff = gocmp.Diff(references(tr), pageReferences(page), cmpopts.EquateEmpty())
		return diff == ""
	})
	explained(t, page, tr)

	changed := ptrace.NewTraces()
	late.CopyTo(spansOf(changed).AppendEmpty())
	spansOf(changed).At(0).SetName("other")
	send(t, backend, changed)
	var there []jaeger.Span
	has := func(name string) bool {
		return slices.ContainsFunc(there, func(s jaeger.Span) bool { return s.Name == name })
	}
	harness.Eventually(t, "another span with the same ID in Jaeger", func() bool {
		there = slices.DeleteFunc(backend.Page(t, id).Spans, func(s jaeger.Span) bool { return !isLate(s) })
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
		t.Errorf("storage %q has %+v for two spans with one ID; want both in memory, the new one in Badger",
			backend.Storage, there)
	}
	return id
}

// spansOf returns the first list of spans in a document, and adds one to an empty document.
func spansOf(doc ptrace.Traces) ptrace.SpanSlice {
	if doc.ResourceSpans().Len() == 0 {
		doc.ResourceSpans().AppendEmpty().ScopeSpans().AppendEmpty()
	}
	return doc.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
}

// addTo adds a child of the document's first span, and returns it.
func addTo(doc ptrace.Traces, name string, id pcommon.SpanID) ptrace.Span {
	first, s := spansOf(doc).At(0), spansOf(doc).AppendEmpty()
	s.SetTraceID(first.TraceID())
	s.SetParentSpanID(first.SpanID())
	s.SetSpanID(id)
	s.SetName(name)
	s.SetStartTimestamp(first.StartTimestamp())
	s.SetEndTimestamp(first.StartTimestamp() + 1)
	return s
}

// send sends spans to Jaeger, and fails unless it accepts them.
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
		t.Fatalf("cannot send spans to Jaeger: %s", res.Status)
	}
}
