// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// TestDocuments: only large documents of whole open traces are remembered, one version each, within the bound.
func TestDocuments(t *testing.T) {
	d := newTraces("", time.Now)
	made, part := 0, false
	get := func(of *span.Trace, open bool, at time.Time, size int) {
		t.Helper()
		e := excerptOf(of, open, at)
		if part {
			e = e.Narrow(func(*span.Span) bool { return false })
		}
		doc, err := d.documentOf(e, func() ([]byte, error) {
			made++
			return make([]byte, size), nil
		})
		if err != nil || len(doc) != size {
			t.Fatalf("%d bytes, %v", len(doc), err)
		}
	}
	trace := func(name string) *span.Trace { return &span.Trace{ID: span.DeriveTraceID(name)} }
	want := func(what string, n, used int) {
		t.Helper()
		if made != n || len(d.documents.used) != used {
			t.Errorf("%s: made %d times, %d remembered, want %d and %d", what, made, len(d.documents.used), n, used)
		}
		made = 0
	}
	a := trace("a")
	get(a, true, asOf, minDocument)
	get(a, true, asOf, minDocument)
	want("the same version", 1, 1)
	get(a, true, asOf.Add(1), minDocument)
	get(&span.Trace{ID: a.ID, Spans: []*span.Span{{}}}, true, asOf.Add(1), minDocument)
	want("other versions", 2, 1)
	part = true
	get(a, true, asOf.Add(1), minDocument)
	get(a, true, asOf.Add(1), minDocument)
	want("a part of the trace", 2, 1)
	part = false
	get(trace("small"), true, asOf, minDocument-1)
	get(trace("ended"), false, asOf, minDocument)
	want("small or ended", 2, 1)
	for _, name := range []string{"b", "c"} {
		get(trace(name), true, asOf, maxDocuments/2)
	}
	want("more than the bound", 2, 2)
	get(trace("huge"), true, asOf, maxDocuments+1)
	want("huge", 1, 0)
}

// TestOpenDocument: a remembered document is that of the present version.
func TestOpenDocument(t *testing.T) {
	many := spantest.Many(1000)
	root := many.Root()
	root.End = span.Time{}
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{Open: []*span.Trace{many}})
	s := start(t, Options{Access: v.Access})
	at := "/api/v1/traces/" + many.ID.String()
	_, first := s.get(t, at)
	kept := &s.traces.documents.used[0].value.doc[0]
	if _, second := s.get(t, at); &s.traces.documents.used[0].value.doc[0] != kept || !bytes.Equal(first, second) {
		t.Error("the document was made again")
	}
	later := *many
	later.Reason = "it goes on"
	v.Put(t, asOf.Add(time.Second), viewtest.Traces{Open: []*span.Trace{&later}})
	if _, third := s.get(t, at); !bytes.Contains(third, []byte("it goes on")) {
		t.Error("the document is the former one")
	}
}
