// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/archive/document"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

var asOf = spantest.Epoch.Add(time.Hour)

// TestRecordings stores the traces of all recordings of real clusters, exports them, and imports
// them into another archive.
func TestRecordings(t *testing.T) {
	for _, pattern := range []string{
		"../../lifecycle/testdata/*.jsonl.gz", "../../stitch/testdata/recording-*.observations.jsonl.gz",
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("no recordings: %v", err)
		}
		for _, path := range paths {
			t.Run(filepath.Base(path), func(t *testing.T) {
				t.Parallel()
				traces, end := recorded(t, path)
				spans, exact := roundTrip(t, &store.Batch{Revision: 7, AsOf: end, Finished: traces})
				t.Logf("%d spans, of which OTLP would change %d", spans, exact)
				if 10*exact > spans {
					t.Errorf("OTLP would change %d of %d spans: the lines are longer than necessary", exact, spans)
				}
			})
		}
	}
}

// recorded returns the traces of a recording, joined with the components' spans if there are any.
func recorded(t *testing.T, path string) ([]*span.Trace, time.Time) {
	t.Helper()
	in, err := observation.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	e := lifecycle.New(lifecycle.Options{Cluster: "recorded"})
	var end time.Time
	for {
		o, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		e.Observe(o)
		end = o.Seen
	}
	traces := e.Traces(end)
	others, found := strings.CutSuffix(path, ".observations.jsonl.gz")
	if !found {
		return traces, end
	}
	s := stitch.New(stitch.Options{})
	s.Accept(received(t, others+".otlp.jsonl.gz"), end)
	for range 2 {
		for i, ours := range traces {
			traces[i] = s.Join(ours, false, end)
		}
	}
	return traces, end
}

// received returns the spans of a file with an OTLP request in each line.
func received(t *testing.T, path string) []*span.Span {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	zip, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	var out []*span.Span
	for line := range bytes.Lines(text) {
		for _, rs := range otlp(t, line).GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, one := range ss.GetSpans() {
					tr, err := span.FromOTLP([]*tracepb.ResourceSpans{{
						Resource:   rs.GetResource(),
						ScopeSpans: []*tracepb.ScopeSpans{{Scope: ss.GetScope(), Spans: []*tracepb.Span{one}}},
					}})
					if err != nil {
						t.Fatal(err)
					}
					tr.Spans[0].RemoteParent = false
					out = append(out, tr.Spans[0])
				}
			}
		}
	}
	return out
}

func otlp(t *testing.T, line []byte) *tracepb.TracesData {
	t.Helper()
	data, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(line)
	if err != nil {
		t.Fatal(err)
	}
	wire, err := (&ptrace.ProtoMarshaler{}).MarshalTraces(data)
	if err != nil {
		t.Fatal(err)
	}
	out := &tracepb.TracesData{}
	if err := proto.Unmarshal(wire, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func open(t *testing.T) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), store.Config{Path: filepath.Join(t.TempDir(), "lifeline.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// roundTrip stores batches, copies each trace through a line to another archive, and compares all
// that readers get. It returns the number of spans, and of those with an exact form.
func roundTrip(t *testing.T, given ...*store.Batch) (spans, exact int) {
	t.Helper()
	from, to := open(t), open(t)
	for _, b := range given {
		if err := from.Write(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	page, err := from.List(t.Context(), store.Query{Limit: store.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	for _, sum := range page.Traces {
		batches, err := from.Batches(t.Context(), sum.ID)
		if err != nil {
			t.Fatal(err)
		}
		line, err := document.Encode(&document.Trace{Cluster: "recorded", Pinned: true, Batches: batches})
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Count(line, []byte("\n")) != 1 || line[len(line)-1] != '\n' {
			t.Fatal("it is not one line")
		}
		otlp(t, line) // other programs can read it
		got, err := document.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if got.Cluster != "recorded" || !got.Pinned || got.ID() != sum.ID {
			t.Errorf("read %+v", got)
		}
		for _, b := range got.Batches {
			if err := to.Write(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		compare(t, from, to, sum.ID)
		spans += sum.Spans
		exact += exactSpans(t, line)
	}
	if len(page.Traces) == 0 {
		return 0, 0
	}
	if diff := cmp.Diff(lifecycles(t, from), lifecycles(t, to)); diff != "" {
		t.Errorf("lifecycles: -exported +imported:\n%s", diff)
	}
	before, after := stats(t, from), stats(t, to)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("-exported +imported:\n%s", diff)
	}
	return spans, exact
}

func lifecycles(t *testing.T, s store.Reader) []store.Lifecycle {
	t.Helper()
	page, err := s.Find(t.Context(), store.FindQuery{Limit: store.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	return page.Lifecycles
}

func exactSpans(t *testing.T, line []byte) int {
	t.Helper()
	var doc struct {
		Lifeline struct{ Exact map[string]any }
	}
	if err := json.Unmarshal(line, &doc); err != nil {
		t.Fatal(err)
	}
	return len(doc.Lifeline.Exact)
}

func stats(t *testing.T, s store.Reader) store.Stats {
	t.Helper()
	out, err := s.Stats(t.Context(), store.Scope{})
	if err != nil {
		t.Fatal(err)
	}
	out.Bytes = 0
	return out
}

// exactly compares all fields, and values of attributes with their types.
var exactly = cmp.Options{
	cmp.Comparer(func(a, b attribute.Value) bool { return a.Type() == b.Type() && a.String() == b.String() }),
}

func compare(t *testing.T, from, to store.Archive, id trace.TraceID) {
	t.Helper()
	type all struct {
		Record *store.Record
		Causes []store.Cause
		Writes *store.WritePage
	}
	read := func(s store.Archive) (out all) {
		var errs [3]error
		out.Record, errs[0] = s.Trace(t.Context(), store.Scope{}, id)
		out.Causes, errs[1] = s.Causes(t.Context(), store.Scope{}, id)
		out.Writes, errs[2] = s.Writes(t.Context(), store.WriteQuery{TraceID: id, Limit: store.MaxPage})
		if err := errors.Join(errs[:]...); err != nil {
			t.Fatal(err)
		}
		var kept []store.Cause
		for _, c := range out.Causes { // those of other traces may not be there yet
			if c.TraceID == id {
				kept = append(kept, c)
			}
		}
		out.Causes = kept
		return out
	}
	if diff := cmp.Diff(read(from), read(to), exactly); diff != "" {
		t.Errorf("-exported +imported:\n%s", diff)
	}
}

// TestUnusual has all that a trace may have and OTLP may not.
func TestUnusual(t *testing.T) {
	long := strings.Repeat("日本", 3000)
	story := spantest.New("unusual")
	tr := story.Trace
	tr.Outcome, tr.Reason = span.Failed, "a reason \u2028 with <html> & \x1b[31m"
	deep := attribute.StringValue("bottom")
	for range 70 {
		deep = attribute.SliceValue(attribute.IntValue(1), deep)
	}
	ref := spantest.Ref("apps", "Deployment", "web")
	at := func(ns int64) span.Time { return span.Time{Time: time.Unix(0, ns).UTC(), Source: span.TimeObject} }
	resource := &span.Resource{SchemaURL: "s", Attributes: []attribute.KeyValue{attribute.String("", "no key")}}
	tr.Spans = append(
		tr.Spans,
		&span.Span{Name: "limits", Start: at(math.MinInt64), End: at(math.MaxInt64), Object: ref},
		&span.Span{Name: "ends before it starts", Start: at(5), End: at(3)},
		&span.Span{
			Name: "before 1970", Start: at(-5), End: at(-3), Events: []span.Event{{Time: at(-4).Time}, {Name: "none"}},
		},
		&span.Span{Name: "open", Start: at(5), Outcome: span.Failed, Message: "waits"},
		&span.Span{Name: "no time"},
		&span.Span{Name: long, Service: long, Message: long, Start: at(1), End: at(2), Attributes: []attribute.KeyValue{
			attribute.String("again", "1"), attribute.String("again", "2"), attribute.String("", "no key"),
			attribute.String("control", "\x00\x1b\u202e"), attribute.Float64("nan", math.NaN()),
			attribute.Float64("inf", math.Inf(-1)), attribute.Int64("large", math.MaxInt64),
			attribute.StringSlice("none", []string{}), attribute.ByteSlice("bytes", []byte{0, 255}),
			attribute.Map("map", attribute.Int("k", 1)), {Key: "empty"}, {Key: "deep", Value: deep},
			span.KeyOutcome.String("own"), span.KeyMessage.String("own"),
		}},
		&span.Span{
			Name:   "half an object",
			Start:  at(1),
			End:    at(2),
			Object: spantest.Ref("", "", "nameless"),
			Parent: trace.SpanID{99},
			Links: []span.Link{
				{}, {TraceID: trace.TraceID{7}, Attributes: []attribute.KeyValue{attribute.Bool("b", true)}},
			},
		},
		&span.Span{Name: "another's", Start: at(1), End: at(2), Origin: &span.Origin{
			TraceID: trace.TraceID{5}, Parent: trace.SpanID{6}, Kind: trace.SpanKindServer, TraceState: "a=b",
			Scope: span.Scope{Name: span.ScopeName, Version: "1"}, Resource: resource,
		}, Message: "without an error", DroppedEvents: 7},
		&span.Span{Name: "nobody's", Start: at(1), End: at(2), Origin: &span.Origin{}},
	)
	for i, s := range tr.Spans {
		s.TraceID, s.ID = tr.ID, trace.SpanID{byte(i)} // the first ID is zero
	}
	hostile := spantest.Hostile()
	hostile.Spans[0].Name, hostile.Reason = "bad \xff", "\xfd"
	late := *hostile
	late.Spans = []*span.Span{{TraceID: late.ID, ID: trace.SpanID{1}, Name: "late", Start: at(1), End: at(2)}}
	second := *spantest.Apply()
	second.Outcome = span.Unfinished
	second.Spans = append([]*span.Span{{TraceID: second.ID, ID: trace.SpanID{1}, Start: at(9)}}, second.Spans...)
	roundTrip(
		t,
		&store.Batch{
			Revision: 4, AsOf: asOf, Finished: []*span.Trace{tr, hostile, spantest.Apply(), spantest.Unschedulable()},
		},
		&store.Batch{
			Revision: 9, AsOf: asOf.Add(time.Hour),
			Finished: []*span.Trace{&second}, Amendments: []*span.Trace{&late},
		},
	)
	alone := &span.Trace{ID: tr.ID, Spans: tr.Spans[:1]} // no span in OTLP
	roundTrip(
		t,
		&store.Batch{Revision: math.MaxInt64, AsOf: time.Unix(0, math.MaxInt64), Finished: []*span.Trace{alone}},
	)
}

func encoded(t testing.TB) []byte {
	t.Helper()
	line, err := document.Encode(&document.Trace{
		Cluster: "c", Batches: []*store.Batch{{Revision: 1, AsOf: asOf, Finished: []*span.Trace{spantest.Rollout()}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestDamaged(t *testing.T) {
	line := string(encoded(t))
	_, whole, _ := strings.Cut(line, `"lifeline":`)
	first := spantest.Rollout().Spans[0].ID.String()
	cases := map[string]struct {
		reason, line, want string
	}{
		"empty":      {"an empty line is not a trace", "", "not JSON"},
		"cut":        {"the end of a file that was cut", line[:len(line)/2], "not JSON"},
		"text":       {"another file", "hello", "not JSON"},
		"foreign":    {"a file of a Collector", `{"resourceSpans":[]}`, `no member "lifeline"`},
		"array":      {"another document", `[]`, "not JSON"},
		"null":       {"nothing", `{"lifeline":null}`, `no member "lifeline"`},
		"newer":      {"of a newer version", replace(line, `"format":1`, `"format":2`), "newer version"},
		"no format":  {"it is not ours", `{"lifeline":{}}`, "format is missing"},
		"no ID":      {"no trace", `{"lifeline":{"format":1}}`, "traceId"},
		"no parts":   {"no spans", `{"resourceSpans":[],"lifeline":` + replace(whole, `"parts":`, `"x":`), "it is"},
		"lost span":  {"another ID", replace(line, `"spanId":"`+first, `"spanId":"00000000000000ff`), "is missing"},
		"surplus":    {"not listed", replace(line, `"spans":["`+first+`",`, `"spans":[`), "is not in lifeline"},
		"twice":      {"a span has two places", replace(line, `"spans":["`, `"spans":["`+first+`","`), "listed twice"},
		"bad ID":     {"an ID is not one", replace(line, `"spans":["`, `"spans":["zz","`), "not the ID of a span"},
		"no version": {"it could not be ordered", replace(line, `"revision":1`, `"revision":0`), "not positive"},
		"no time":    {"open spans would have no length", replace(line, `"asOf":"2026`, `"x":"2026`), "AsOf"},
		"bad time":   {"another form", replace(line, `"asOf":"2026`, `"asOf":"yesterday`), "not JSON"},
		"other ID":   {"spans of another trace", replace(line, `"traceId":"`, `"traceId":"ff`), "it is"},
		"exact": {
			"it is empty", replace(line, `"parts":`, `"exact":{"`+first+`":null},"parts":`), "lifeline.exact",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			got, err := document.Decode([]byte(tc.line))
			if !errors.Is(err, document.ErrDamaged) || tc.want != "it is" && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func replace(s, old, with string) string { return strings.Replace(s, old, with, 1) }

func FuzzDecode(f *testing.F) {
	f.Add(encoded(f))
	f.Add([]byte(`{"lifeline":{"format":1,"traceId":"0102030405060708090a0b0c0d0e0f10","asOf":"2026-01-01T00:00:00Z",` +
		`"parts":[{"revision":1,"spans":["0000000000000001"]}],` +
		`"exact":{"0000000000000001":"AQ=="}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		got, err := document.Decode(line)
		if err != nil {
			return
		}
		again, err := document.Encode(got)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := document.Decode(again); err != nil {
			t.Errorf("the line that was written cannot be read: %v", err)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	t := &document.Trace{
		Batches: []*store.Batch{{Revision: 1, AsOf: asOf, Finished: []*span.Trace{spantest.Many(1000)}}},
	}
	for b.Loop() {
		if _, err := document.Encode(t); err != nil {
			b.Fatal(err)
		}
	}
}
