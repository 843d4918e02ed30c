// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// recording is a recorded cluster.
type recording struct {
	traces []*span.Trace
	// own are the observations of each object, as text.
	own  map[object.Ref]*bytes.Buffer
	last time.Time
}

// readRecording returns the traces of a recording, and what its objects say of themselves.
func readRecording(t *testing.T, path string) *recording {
	t.Helper()
	in, err := observation.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out := &recording{own: map[object.Ref]*bytes.Buffer{}}
	e := lifecycle.New(lifecycle.Options{Cluster: "recorded"})
	for {
		o, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var of object.Ref
		switch {
		case o.State != nil:
			of = o.State.Ref
		case o.Event != nil:
			of = o.Event.Regarding
		case o.Write != nil:
			of = o.Write.Ref
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if out.own[of] == nil {
			out.own[of] = &bytes.Buffer{}
		}
		out.own[of].Write(text)
		e.Observe(o)
		out.last = o.Seen
	}
	out.last = out.last.Add(time.Minute)
	out.traces = e.Traces(out.last)
	return out
}

// objects returns all objects of the traces.
func (r *recording) objects() map[object.Ref]bool {
	out := map[object.Ref]bool{}
	for _, tr := range r.traces {
		for o := range store.Objects(tr) {
			out[o] = true
		}
		for _, s := range tr.Spans {
			if s.Facts == nil {
				continue
			}
			for _, w := range s.Facts.Writes {
				if w.Of != nil {
					out[*w.Of] = true
				}
			}
		}
	}
	return out
}

// secrets returns the names and UIDs of hidden objects that no visible object has in its name, its owners, its status
// or another field.
func (r *recording) secrets(s store.Scope) []string {
	var visible strings.Builder
	for o, text := range r.own {
		if s.Permits(o) {
			visible.Write(text.Bytes())
		}
	}
	objects := r.objects()
	for o := range objects {
		if s.Permits(o) {
			fmt.Fprintln(&visible, o, o.UID)
		}
	}
	var out []string
	for o := range objects {
		for _, secret := range []string{o.Name, string(o.UID)} {
			if !s.Permits(o) && len(secret) > 5 && !strings.Contains(visible.String(), secret) &&
				!slices.ContainsFunc(general, func(word string) bool { return strings.Contains(word, secret) }) {
				out = append(out, secret)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// general are words of Lifeline and Kubernetes that are also names of objects in the recordings.
var general = []string{
	"kubernetes", "kube-scheduler", "kube-controller-manager", "kube-apiserver", "cert-manager", "argocd", "coredns",
	"helm-controller", "kustomize-controller", "source-controller", "controller",
}

// anyScope returns a random scope of the objects of a recording: some of their namespaces, or all, without some kinds.
func (r *recording) anyScope(random *rand.Rand) store.Scope {
	var namespaces []string
	kinds := map[object.Kind]bool{}
	for o := range r.objects() {
		namespaces = append(namespaces, o.Namespace)
		kinds[object.Kind{Group: o.Group, Kind: o.Kind.Kind}] = true
	}
	slices.Sort(namespaces)
	namespaces = slices.Compact(namespaces)
	out := store.Scope{}
	if random.IntN(4) > 0 {
		out.Namespaces = []string{}
		for _, n := range namespaces {
			if random.IntN(2) == 0 && (n != "" || random.IntN(3) == 0) {
				out.Namespaces = append(out.Namespaces, n)
			}
		}
	}
	sorted := make([]object.Kind, 0, len(kinds))
	for k := range kinds {
		sorted = append(sorted, k)
	}
	slices.SortFunc(sorted, func(a, b object.Kind) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range sorted {
		if random.IntN(4) > 0 {
			continue
		}
		g := store.Guarded{Group: k.Group, Kind: k.Kind}
		if random.IntN(2) == 0 && len(namespaces) > 0 {
			g.Except = namespaces[:random.IntN(len(namespaces))]
		}
		out.Without = append(out.Without, g)
	}
	return out
}

// put makes a view with traces in all places: open ones, those of the journal, and those of the archive.
func put(t *testing.T, traces []*span.Trace, at time.Time) *viewtest.View {
	t.Helper()
	v := viewtest.New(t)
	v.Cluster = "cluster-1"
	var finished, opened []*span.Trace
	var entries []*journal.Entry
	for _, tr := range traces {
		switch place := tr.ID[0] % 3; { // the same place for each version of a trace
		case slices.ContainsFunc(tr.Spans, (*span.Span).Open) && place == 0:
			opened = append(opened, tr)
		case place == 1:
			entries = append(entries, &journal.Entry{
				Item: journal.Item{
					Seq: uint64(len(entries) + 1), For: journal.Archive, Revision: 1, AsOf: at, TraceID: tr.ID,
					Spans: len(tr.Spans),
				},
				Trace: tr,
			})
		default:
			finished = append(finished, tr)
		}
	}
	v.Put(t, at, viewtest.Traces{Finished: finished})
	v.Publish(at, 1, opened, entries)
	return v
}

// sender is a Server with all traces for one sender.
type sender struct {
	*Server
	hub *Hub
	t   *testing.T
}

func newSender(t *testing.T, access func(*http.Request) (store.Access, error), clock func() time.Time) sender {
	t.Helper()
	out := sender{hub: &Hub{}, t: t}
	var err error
	out.Server, err = New(Options{Access: access, Clock: clock, Hub: out.hub, Cluster: "cluster-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	return out
}

func (s sender) ask(path string) (int, string) {
	s.t.Helper()
	req := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://localhost/api/v1/"+path, nil)
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, req)
	return rec.Code, rec.Body.String()
}

// stream returns the beginning of a stream.
func (s sender) stream(path string) string {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/api/v1/"+path, nil)
	out := &until{cancel: cancel, text: "event: synced"}
	s.ServeHTTP(out, req)
	return out.body.String()
}

// until is a ResponseWriter that ends the request after a text.
type until struct {
	body   bytes.Buffer
	header http.Header
	cancel context.CancelFunc
	text   string
}

func (u *until) Header() http.Header {
	if u.header == nil {
		u.header = http.Header{}
	}
	return u.header
}
func (u *until) WriteHeader(int)                  {}
func (u *until) Flush()                           {}
func (u *until) SetWriteDeadline(time.Time) error { return nil }
func (u *until) Write(b []byte) (int, error) {
	u.body.Write(b)
	if strings.Contains(u.body.String(), u.text) {
		u.cancel()
	}
	return len(b), nil
}

// lists are the questions about all traces. Those of facts of Nodes are in TestWithheld.
var lists = []string{
	"traces", "traces?limit=3", "traces?outcome=failed", "traces?slowerThan=1s", "traces?open=true",
	"traces?state=stuck,running,unfinished", "traces?kind=Pod", "traces?where=kind%3D%3D%22Pod%22",
	"lifecycles", "lifecycles?limit=5", "lifecycles?where=duration%3Eduration(%221s%22)", "groups", "groups?by=kind",
	"groups?by=namespace&quantiles=0.5,0.9", "groups?by=reason", "groups?by=heals", "groups?by=user",
	"groups?by=actor", "groups?by=node", "groups?by=workload", "groups?by=day&of=phase.startup&quantiles=0.5",
	"groups?by=state&changes=true", "groups?by=name&changes=true", "writes", "writes?limit=4", "writes?part=observed",
	"density?buckets=50", "density?where=outcome%3D%3D%22failed%22", "fields", "problems",
}

// ranged returns a path with a range of time around a recording.
func (r *recording) ranged(path string) string {
	for _, without := range []string{"fields", "problems"} {
		if path == without {
			return path
		}
	}
	if strings.Contains(path, "?") {
		path += "&"
	} else {
		path += "?"
	}
	first := r.last
	for _, tr := range r.traces {
		if at := store.Start(tr); at.Before(first) {
			first = at
		}
	}
	format := func(t time.Time) string { return url.QueryEscape(t.UTC().Format(time.RFC3339)) }
	return path + "since=" + format(first.Add(-time.Hour)) + "&until=" + format(r.last.Add(time.Hour))
}

// recordings are those of the engine's tests and of the example.
func recordings(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("../lifecycle/testdata/*.jsonl.gz")
	if err != nil || len(all) < 20 {
		t.Fatal(len(all), err)
	}
	all = append(all, "../../../examples/web.recording.jsonl.gz")
	if testing.Short() {
		return slices.DeleteFunc(all, func(path string) bool { return len(path)%4 > 0 })
	}
	return all
}

// samples are the traces of package spantest, as a recording.
func samples() *recording {
	return &recording{last: asOf, traces: append(spantest.Healing(), spantest.Apply(), spantest.Rollout(),
		spantest.Unschedulable(), spantest.CrashLoop(), spantest.Joined(), spantest.Fight(), spantest.Causes())}
}

// TestNothingHidden: over all recordings and random scopes, no answer has a text of a hidden object, unless a visible
// object's own fields have it. The answers about a hidden trace are those about an absent one, and all lists are as if
// the hidden spans had never been there.
func TestNothingHidden(t *testing.T) {
	all := map[string]func(*testing.T) *recording{"samples": func(*testing.T) *recording { return samples() }}
	for _, path := range recordings(t) {
		all[filepath.Base(path)] = func(t *testing.T) *recording { return readRecording(t, path) }
	}
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	for name, read := range all {
		t.Run(name, func(t *testing.T) {
			of := read(t)
			random := rand.New(rand.NewPCG(5, uint64(len(name))))
			for range rounds {
				checkScope(t, of, of.anyScope(random), random)
			}
		})
	}
}

func checkScope(t *testing.T, of *recording, scope store.Scope, random *rand.Rand) {
	t.Helper()
	clock := func() time.Time { return of.last }
	v := put(t, of.traces, of.last)
	s := newSender(t, within(v, func(*http.Request) store.Scope { return scope }), clock)
	var visible []*span.Trace
	permitted := map[trace.TraceID]bool{}
	for _, tr := range of.traces {
		permitted[tr.ID] = rights.Project(tr, rights.Sees{Object: scope.Permits}) != nil
	}
	for _, tr := range of.traces {
		if part := rights.Project(tr, rights.Sees{
			Object: scope.Permits, Trace: func(id trace.TraceID) bool { return permitted[id] },
		}); part != nil {
			visible = append(visible, part)
		}
	}
	alone := newSender(t, all(put(t, visible, of.last)), clock)
	secrets := of.secrets(scope)
	t.Logf("%+v: %d of %d traces are visible, %d secrets", scope, len(visible), len(of.traces), len(secrets))
	check := func(path, body string) {
		asked, _ := url.QueryUnescape(path)
		for _, secret := range secrets {
			if strings.Contains(asked, secret) {
				continue // an error repeats the question
			}
			if at := strings.Index(body, secret); at >= 0 {
				t.Errorf("%+v: %s has %q of a hidden object: …%s…", scope, path, secret,
					body[max(0, at-300):min(len(body), at+100)])
				return
			}
		}
	}
	for _, path := range lists {
		path = of.ranged(path)
		code, body := s.ask(path)
		if path != "fields" { // it is the same for all
			check(path, body)
		}
		if wantCode, want := alone.ask(path); code != wantCode || body != want {
			t.Errorf("%+v: %s: -without the hidden spans +got:\n- %d %s\n+ %d %s",
				scope, path, wantCode, want, code, body)
		}
	}
	for _, tr := range of.traces {
		s.hub.Publish([]Update{{Trace: tr, Open: true, AsOf: of.last}})
	}
	for _, path := range []string{"watch", "watch?view=summary"} {
		check(path, s.stream(path))
	}
	random.Shuffle(len(of.traces), func(i, j int) { of.traces[i], of.traces[j] = of.traces[j], of.traces[i] })
	for _, tr := range of.traces[:min(len(of.traces), maxChecked)] {
		of.checkTrace(t, s, scope, tr, permitted[tr.ID], random, check)
	}
}

// maxChecked is the number of traces of which all answers are checked, in one scope.
const maxChecked = 12

// checkTrace asks for all about one trace.
func (r *recording) checkTrace(
	t *testing.T, s sender, scope store.Scope, tr *span.Trace, permitted bool, random *rand.Rand,
	check func(path, body string),
) {
	t.Helper()
	one := tr.Spans[random.IntN(len(tr.Spans))]
	o := one.Object
	query := url.Values{"kind": {o.Kind.Kind}, "name": {o.Name}, "namespace": {o.Namespace}}.Encode()
	absent := trace.TraceID{0xab, 0xcd, 1}
	for _, path := range []string{
		"", "?format=perfetto", "?format=mermaid", "?format=html", "/why", "/why?" + query, "/tree",
		"/tree?expand=c0000000000000000", "/spans/" + one.ID.String(), "/causes", "/causes?across=true",
		"/find?limit=1000&text=e", "/find?text=" + url.QueryEscape(o.Name+" x"),
	} {
		code, body := s.ask("traces/" + tr.ID.String() + path)
		if !strings.Contains(path, "html") { // the page has words of its own
			check(path, body)
		}
		if permitted {
			continue
		}
		wantCode, want := s.ask("traces/" + absent.String() + path)
		if want = strings.ReplaceAll(want, absent.String(), tr.ID.String()); code != wantCode || body != want {
			t.Errorf("%+v: %s of a hidden trace: %d %s; of an absent one: %d %s",
				scope, path, code, body, wantCode, want)
		}
		short, _ := s.ask("traces/" + tr.ID.String()[:12] + path)
		if wantShort, _ := s.ask("traces/" + absent.String()[:12] + path); short != wantShort {
			t.Errorf("%+v: %s by the beginning of the ID: %d, not %d", scope, path, short, wantShort)
		}
	}
}

// TestWithheld: a question that uses a fact of Nodes needs the right to them.
func TestWithheld(t *testing.T) {
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{spantest.Apply()}})
	scope := store.Scope{}
	s := newSender(t, within(v, func(*http.Request) store.Scope { return scope }), func() time.Time { return asOf })
	for _, path := range []string{
		"groups?by=zone", "groups?by=instance_type", "groups?where=region%3D%3D%22x%22",
		"density?where=zone%3D%3D%22x%22",
		"lifecycles?where=runtime%3D%3D%22x%22", "traces?where=zone%3D%3D%22x%22",
	} {
		for _, c := range []struct {
			scope store.Scope
			code  int
		}{
			{store.Scope{}, 200}, {store.Scope{Namespaces: []string{"default"}}, 403},
			{store.Scope{Namespaces: []string{"default", ""}}, 200},
			{store.Scope{Without: []store.Guarded{{Kind: kind.Node.Kind.Kind}}}, 403},
		} {
			scope = c.scope
			code, body := s.ask(path)
			if code != c.code || code == 403 && !strings.Contains(body, "comes from Nodes, which you may not see") {
				t.Errorf("%+v: %s: %d %s", scope, path, code, body)
			}
		}
	}
}
