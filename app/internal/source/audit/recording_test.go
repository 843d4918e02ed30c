// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// levels are the audit levels of the recordings; all have the same changes.
var levels = []string{"metadata", "request", "response"}

// recorded returns the observations of the watches and those of the audit log. e2e/audit makes the
// recordings.
func recorded(tb testing.TB, level string) (seen, audited []*observation.Observation) {
	tb.Helper()
	r, err := observation.Open("testdata/" + level + ".observations.jsonl.gz")
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	for {
		o, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		seen = append(seen, o)
	}
	s := newSource(tb, newSink(), nil)
	for _, line := range logOf(tb, level) {
		e, err := decode(line)
		if err != nil {
			tb.Fatal(err)
		}
		writes, _ := s.writes(e)
		for _, w := range writes {
			audited = append(audited, &observation.Observation{Seen: w.End, Source: observation.SourceAudit, Write: w})
		}
	}
	if len(audited) == 0 {
		tb.Fatal("the audit log gives no observations")
	}
	return seen, audited
}

// logOf returns the lines of a recorded audit log.
func logOf(tb testing.TB, level string) [][]byte {
	tb.Helper()
	packed, err := os.ReadFile("testdata/" + level + ".audit.jsonl.gz")
	if err != nil {
		tb.Fatal(err)
	}
	in, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		tb.Fatal(err)
	}
	return bytes.Split(bytes.TrimSpace(text), []byte("\n"))
}

func traces(seen []*observation.Observation) []*span.Trace {
	e := lifecycle.New(lifecycle.Options{Cluster: "test"})
	for _, o := range seen {
		e.Observe(o)
	}
	return e.Traces(endOf(seen))
}

func endOf(seen []*observation.Observation) time.Time {
	var end time.Time
	for _, o := range seen {
		if o.Seen.After(end) {
			end = o.Seen
		}
	}
	return end.Add(time.Minute)
}

func attr(s []attribute.KeyValue, key attribute.Key) string {
	for _, kv := range s {
		if kv.Key == key {
			return kv.Value.String()
		}
	}
	return ""
}

// shape prints the traces without the additions of the audit log: IDs, names, edges, outcomes and
// links of all spans but writes.
func shape(traces []*span.Trace) string {
	var out []string
	for _, t := range traces {
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s %s\n", t.ID, t.Outcome, t.Reason)
		var lines []string
		alone := false
		for _, s := range t.Spans {
			if s.IsWrite() {
				alone = alone || !s.Parent.IsValid()
				continue
			}
			lines = append(
				lines,
				fmt.Sprintf("  %s<%s %s %s %s %d links", s.ID, s.Parent, s.Name, s.Object, s.Outcome, len(s.Links)),
			)
		}
		slices.Sort(lines)
		if !alone {
			out = append(out, b.String()+strings.Join(lines, "\n"))
		}
	}
	return strings.Join(out, "\n")
}

// outline prints all spans of the traces.
func outline(traces []*span.Trace) string {
	var b strings.Builder
	for _, t := range traces {
		fmt.Fprintf(&b, "%s %s %s\n", t.ID, t.Outcome, t.Reason)
		for _, s := range t.Spans {
			fmt.Fprintf(
				&b,
				"  %s<%s %s %s %s %s %s-%s %s %s\n",
				s.ID,
				s.Parent,
				s.Name,
				s.Object,
				s.Service,
				s.Outcome,
				s.Start.Format(time.RFC3339Nano),
				s.End.Format(time.RFC3339Nano),
				s.End.Source,
				attr(s.Attributes, span.KeyActorUser),
			)
		}
	}
	return b.String()
}

// TestTracesStayTheSame: an audit log changes no trace, except that writes become spans and times
// become more exact.
func TestTracesStayTheSame(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			seen, audited := recorded(t, level)
			want := shape(traces(seen))
			if diff := cmp.Diff(want, shape(traces(slices.Concat(seen, audited)))); diff != "" {
				t.Errorf("-without +with:\n%s", diff)
			}
		})
	}
}

// TestAnyOrder: the order and the repetition of observations do not change the traces.
func TestAnyOrder(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			seen, audited := recorded(t, level)
			all := slices.Concat(seen, audited)
			want := outline(traces(all))
			for seed := range uint64(8) {
				r := rand.New(rand.NewPCG(seed, 2))
				other := slices.Clone(all)
				for range len(all) / 3 {
					other = append(other, all[r.IntN(len(all))])
				}
				r.Shuffle(len(other), func(i, j int) { other[i], other[j] = other[j], other[i] })
				if diff := cmp.Diff(want, outline(traces(other))); diff != "" {
					t.Fatalf("order %d gives other traces (-first +permuted):\n%s", seed, diff)
				}
			}
		})
	}
}

// TestEveryWriteHasItsSpan: each stored write of a traced object is a span with the times of its
// request.
func TestEveryWriteHasItsSpan(t *testing.T) {
	for level, least := range map[string]float64{"metadata": 0.95, "request": 0.95, "response": 1} {
		t.Run(level, func(t *testing.T) {
			seen, audited := recorded(t, level)
			requests := map[string]*observation.Write{}
			for _, o := range audited {
				requests[o.Write.AuditID] = o.Write
			}
			found := map[string]bool{}
			spans, moments, users := 0, 0, 0
			traced := map[string]bool{}
			for _, tr := range traces(slices.Concat(seen, audited)) {
				for _, s := range tr.Spans {
					traced[string(s.Object.UID)] = true
					for _, e := range s.Events {
						// The audit policy of the recordings leaves out Secrets.
						if e.Name == span.EventWrite && s.Object.Kind.Kind != "Secret" {
							moments++
							t.Logf(
								"not joined: %s %s of %s by %s, rv %s",
								attr(e.Attributes, span.KeyVerb),
								attr(e.Attributes, span.KeyPart),
								s.Object,
								attr(e.Attributes, span.KeyActor),
								attr(e.Attributes, span.KeyRV),
							)
						}
					}
					if !s.IsWrite() || s.Status == span.StatusError {
						continue
					}
					spans++
					id := attr(s.Attributes, span.KeyAuditID)
					w := requests[id]
					if w == nil || !s.Start.Equal(w.Start) || !s.End.Equal(w.End) || s.Start.Source != span.TimeAudit ||
						s.End.Source != span.TimeAudit {
						t.Errorf("%s of %s (audit ID %q) does not have the times of its request", s.Name, s.Object, id)
					}
					if found[id] && w.Verb != "delete" { // a delete may store two versions
						t.Errorf("request %s has two write spans", id)
					}
					found[id] = true
					if attr(s.Attributes, span.KeyActorUser) != "" {
						users++
					}
				}
			}
			share := float64(spans) / float64(spans+moments)
			t.Logf("%d of %d writes are spans: %.1f %%", spans, spans+moments, 100*share)
			if share < least || users != spans {
				t.Errorf("%.3f of the writes are spans, want %.3f; %d have a user", share, least, users)
			}
			if level != "response" {
				return
			}
			for id, w := range requests {
				if !w.Failed() && w.ResourceVersion > 0 && traced[string(w.UID)] && !found[id] {
					t.Errorf(
						"%s %s %s by %s stored resourceVersion %d and has no span",
						w.Verb,
						w.Ref,
						w.Subresource,
						w.User,
						w.ResourceVersion,
					)
				}
			}
		})
	}
}

// TestJoinedAsTheAnswersSay removes the responses from a log that has them. Joining by identity and
// order must give the same versions as the responses.
func TestJoinedAsTheAnswersSay(t *testing.T) {
	seen, audited := recorded(t, "response")
	versions := func(audited []*observation.Observation) map[string]string {
		out := map[string]string{}
		for _, tr := range traces(slices.Concat(seen, audited)) {
			for _, s := range tr.Spans {
				if s.IsWrite() && s.Status != span.StatusError {
					out[attr(s.Attributes, span.KeyAuditID)+" "+string(s.Object.UID)] += attr(
						s.Attributes,
						span.KeyRV,
					) + " "
				}
			}
		}
		return out
	}
	want := versions(audited)
	s := newSource(t, newSink(), nil)
	var poor []*observation.Observation
	for _, line := range logOf(t, "response") {
		e, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		e.request, e.answer = nil, nil
		writes, _ := s.writes(e)
		for _, w := range writes {
			poor = append(poor, &observation.Observation{Seen: w.End, Source: observation.SourceAudit, Write: w})
		}
	}
	got := versions(poor)
	for id, rv := range got {
		if want[id] != rv {
			t.Errorf("request %s stored %q, but was joined with %q", id, want[id], rv)
		}
	}
	if len(got) < len(want)*9/10 {
		t.Errorf("%d of %d requests were joined, want 90 %%", len(got), len(want))
	}
}

// TestRefusedWritesAreKept: refused writes are kept with their reason, below an open span or as
// their own traces.
func TestRefusedWritesAreKept(t *testing.T) {
	for _, level := range levels {
		t.Run(level, func(t *testing.T) {
			seen, audited := recorded(t, level)
			got := map[string]int{}
			for _, tr := range traces(slices.Concat(seen, audited)) {
				for _, s := range tr.Spans {
					if s.IsWrite() && s.Status == span.StatusError {
						reason, _, _ := strings.Cut(s.Message, ":")
						where := "alone"
						if s.Parent.IsValid() {
							where = "below"
						} else if tr.Outcome != span.Refused || tr.Reason == "" {
							t.Errorf("the trace of a refused write has outcome %q, reason %q", tr.Outcome, tr.Reason)
						}
						got[fmt.Sprintf("%s %s %s %s", where, s.Name, attr(s.Attributes, span.KeyActorUser), reason)]++
					}
				}
			}
			for _, want := range []string{
				"update Deployment admin Conflict", "update Deployment admin Invalid",
				"create Deployment nobody Forbidden", "create Pod admin Forbidden",
			} {
				if got["alone "+want]+got["below "+want] == 0 {
					t.Errorf("missing: %s; got %v", want, got)
				}
			}
			by := "below create Pod system:serviceaccount:kube-system:replicaset-controller Forbidden"
			if level != "metadata" && got[by] == 0 {
				t.Errorf("the Pod that the quota refused is not below its ReplicaSet; got %v", got)
			}
		})
	}
}

// BenchmarkWrites measures decoding a line and making its observations.
func BenchmarkWrites(b *testing.B) {
	for _, level := range levels {
		b.Run(level, func(b *testing.B) {
			lines := logOf(b, level)
			size := 0
			for _, l := range lines {
				size += len(l)
			}
			s := newSource(b, newSink(), nil)
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, l := range lines {
					e, err := decode(l)
					if err != nil {
						b.Fatal(err)
					}
					s.writes(e)
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(lines))/b.Elapsed().Seconds(), "events/s")
		})
	}
}
