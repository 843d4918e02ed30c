// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// captured is one recording: the components' spans, and the engine's traces from its observations
// and the audit log.
type captured struct {
	spans  []*span.Span
	ours   []*span.Trace
	audits map[string]bool // audit-ids of the writes in ours
	end    time.Time
}

// recorded returns the names of the recordings.
func recorded(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "recording-*.otlp.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(filepath.Base(f), ".otlp.jsonl.gz")
	}
	return files
}

func load(t testing.TB, name string) captured {
	t.Helper()
	var out captured
	for _, batch := range recording(t, name+".otlp.jsonl.gz") {
		out.spans = append(out.spans, batch...)
	}
	in, err := observation.NewReader(bytes.NewReader(read(t, name+".observations.jsonl.gz")), name)
	if err != nil {
		t.Fatal(err)
	}
	e := lifecycle.New(lifecycle.Options{Cluster: in.Header().Cluster})
	for {
		o, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e.Observe(o)
		out.end = o.Seen
	}
	out.end = out.end.Add(time.Minute)
	for _, o := range audited(t, name+".audit.jsonl.gz", out.end) {
		e.Observe(o)
	}
	out.ours = e.Traces(out.end)
	out.audits = auditIDs(out.ours)
	return out
}

// audited returns a server's observations from an audit log that the API server sends.
func audited(t testing.TB, name string, now time.Time) (seen []*observation.Observation) {
	t.Helper()
	s, err := audit.New(audit.Config{
		Sink: func(_ context.Context, batch []*observation.Observation) error {
			seen = append(seen, batch...)
			return nil
		},
		Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	events := bytes.ReplaceAll(bytes.TrimSpace(read(t, name)), []byte("\n"), []byte(","))
	req := httptest.NewRequest(http.MethodPost, "/",
		io.MultiReader(strings.NewReader(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","items":[`),
			bytes.NewReader(events), strings.NewReader("]}")))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		t.Fatalf("the audit log %s is answered with %d", name, w.Code)
	}
	return seen
}

// auditIDs returns the audit-ids of the writes in traces.
func auditIDs(traces []*span.Trace) map[string]bool {
	out := map[string]bool{}
	note := func(attrs []attribute.KeyValue) {
		for _, kv := range attrs {
			if kv.Key == span.KeyAuditID {
				out[kv.Value.AsString()] = true
			}
		}
	}
	for _, t := range traces {
		for _, s := range t.Spans {
			note(s.Attributes)
			for _, e := range s.Events {
				note(e.Attributes)
			}
		}
	}
	return out
}

// TestRecordings joins the spans of a real cluster.
func TestRecordings(t *testing.T) {
	for _, name := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			r := load(t, name)
			s := stitch.New(stitch.Options{})
			s.Accept(r.spans, r.end)
			for _, ours := range r.ours {
				s.Join(ours, false, r.end)
			}
			joined := map[trace.SpanID]*span.Span{}
			children := map[trace.SpanID]int{}
			for _, ours := range r.ours {
				got := s.Join(ours, false, r.end)
				check(t, ours, got)
				for _, one := range got.Spans {
					children[one.Parent]++
					if one.Origin != nil {
						joined[one.ID] = one
					}
				}
				if len(got.Spans) > len(ours.Spans) {
					t.Log("\n" + outline(got))
				}
			}
			writes, pods := map[string]bool{}, map[string]bool{}
			for id := range r.audits {
				writes[id] = false
			}
			for _, ours := range r.ours {
				for _, one := range ours.Spans {
					if one.Name == "reconcile Pod" {
						pods[string(one.Object.UID)] = true
					}
				}
			}
			for _, one := range r.spans {
				_, in := joined[one.ID]
				id := attributeOf(one, "audit-id")
				if one.Origin.Kind == trace.SpanKindServer && r.audits[id] {
					writes[id] = writes[id] || in
					if !in {
						t.Errorf("%s of a write that belongs to a change is not joined", one.Name)
					}
					if in && children[one.ID] == 0 {
						t.Errorf("%s lacks what is below it", one.Name)
					}
				}
				if uid := attributeOf(one, "k8s.pod.uid"); in && uid != "" && !pods[uid] {
					t.Errorf("%s of a Pod that is not ours is joined", one.Name)
				}
				if attributeOf(one, "k8s.pod.update_type") == "create" && pods[attributeOf(one, "k8s.pod.uid")] && !in {
					t.Errorf("%s of a Pod that was created is not joined", one.Name)
				}
			}
			for id, in := range writes {
				if !in {
					t.Errorf("of write %s there is no request", id)
				}
			}
			if len(writes) == 0 && len(r.ours) > 0 {
				t.Error("the audit log tells of no write")
			}
			st := s.Stats()
			t.Logf("%d spans: %d joined, %d noise at once; %d writes", st.Received, len(joined), st.Noise, len(writes))
			if len(joined) < 100 && len(r.ours) > 0 {
				t.Errorf("only %d are joined", len(joined))
			}
			if len(joined) > 0 && len(r.ours) == 0 {
				t.Errorf("%d are joined to nothing", len(joined))
			}
			passed := s.Expire(r.end.Add(time.Hour))
			for _, p := range passed {
				t.Logf("passed: %s", strings.ReplaceAll(outline(p), "\n", "; "))
			}
		})
	}
}

// TestOrder: the result depends only on the set of spans.
func TestOrder(t *testing.T) {
	for _, name := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			r := load(t, name)
			if len(r.ours) == 0 {
				t.Skip("nothing changes in it")
			}
			var want []string
			for seed := range uint64(6) {
				s := stitch.New(stitch.Options{})
				got := make([]string, len(r.ours))
				for i, batch := range shuffle(r.spans, seed) {
					if seed == 0 {
						continue
					}
					s.Accept(batch, r.end)
					if ours := r.ours[i%len(r.ours)]; i%3 == int(seed%3) {
						s.Join(ours, false, r.end)
					}
				}
				if seed == 0 {
					s.Accept(r.spans, r.end)
				}
				for _, ours := range r.ours {
					s.Join(ours, false, r.end)
				}
				for i, ours := range r.ours {
					got[i] = document(s.Join(ours, false, r.end))
				}
				if want == nil {
					want = got
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
				}
			}
		})
	}
}
