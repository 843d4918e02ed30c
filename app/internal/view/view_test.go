// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is where a trace is.
type place int

const (
	absent place = iota
	open
	pending
	archived
)

// room is a view over a journal and an archive. The oracle is an archive that has all traces and
// amendments at once.
type room struct {
	t       *testing.T
	journal *journal.Journal
	archive *sqlite.Store
	oracle  *sqlite.Store
	view    *view.View
	looks   int64

	// away makes the archive unavailable.
	away   error
	traces []*span.Trace
	at     []place
	// amendments are those in the log, by the index of the trace; amended counts them all.
	amendments map[int][]*journal.Entry
	entries    map[int]*journal.Entry
	amended    int
}

var asOf = spantest.Epoch.Add(time.Hour)

func newRoom(t *testing.T) *room {
	t.Helper()
	dir := t.TempDir()
	r := &room{t: t, amendments: map[int][]*journal.Entry{}, entries: map[int]*journal.Entry{}}
	var err error
	r.journal, err = journal.Open(t.Context(), filepath.Join(dir, "journal.db"))
	must(t, err)
	r.archive, err = sqlite.Open(t.Context(), store.Config{Path: filepath.Join(dir, "archive.db")})
	must(t, err)
	r.oracle, err = sqlite.Open(t.Context(), store.Config{Path: filepath.Join(dir, "oracle.db")})
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(r.journal.Close(), r.archive.Close(), r.oracle.Close())) })
	r.reopen()
	return r
}

// reopen makes a new view, as after a restart: the entries of the log are read from the journal.
func (r *room) reopen() {
	r.t.Helper()
	left, err := r.journal.Pending(r.t.Context(), journal.Archive)
	must(r.t, err)
	r.view = view.New(r.journal.Read, func() (store.Stored, error) {
		if r.away != nil {
			return nil, r.away
		}
		return r.archive, nil
	})
	r.view.Cluster = "c"
	r.view.Restore(left)
	r.publish(nil)
}

// publish stores a look with the entries, and publishes it.
func (r *room) publish(entries []*journal.Entry) {
	r.t.Helper()
	c := &journal.Changes{AsOf: asOf, Entries: entries}
	must(r.t, r.journal.Commit(r.t.Context(), c))
	r.looks = c.Revision
	var opened []*span.Trace
	for i, t := range r.traces {
		if r.at[i] == open {
			opened = append(opened, t)
		}
	}
	r.view.Publish(asOf, c.Revision, opened, entries)
}

// add adds a trace to the oracle, and not to the view yet.
func (r *room) add(t *span.Trace) {
	r.t.Helper()
	r.traces, r.at = append(r.traces, t), append(r.at, absent)
	must(r.t, r.oracle.Write(r.t.Context(), &store.Batch{Revision: 1, AsOf: asOf, Finished: []*span.Trace{t}}))
}

// move moves a trace, or an amendment of it, to the next place. It reports whether anything moved.
func (r *room) move(i int) bool {
	r.t.Helper()
	switch r.at[i] {
	case absent:
		r.at[i] = open
		r.publish(nil)
	case open:
		r.at[i] = pending
		r.entries[i] = &journal.Entry{Item: journal.Item{For: journal.Archive}, Trace: r.traces[i]}
		r.publish([]*journal.Entry{r.entries[i]})
	case pending:
		r.at[i] = archived
		r.write(r.entries[i])
	case archived:
		if len(r.amendments[i]) == 0 {
			return false
		}
		e := r.amendments[i][0]
		r.amendments[i] = r.amendments[i][1:]
		r.write(e)
	}
	return true
}

// write moves an entry of the log to the archive.
func (r *room) write(e *journal.Entry) {
	r.t.Helper()
	b := &store.Batch{Revision: e.Revision, AsOf: e.AsOf}
	if e.Amends {
		b.Amendments = []*span.Trace{e.Trace}
	} else {
		b.Finished = []*span.Trace{e.Trace}
	}
	must(r.t, r.archive.Write(r.t.Context(), b))
	r.view.Archived([]uint64{e.Seq})
	must(r.t, r.journal.Done(r.t.Context(), journal.Archive, e.Seq))
}

// amend adds a span with an object and a link of its own to a finished trace.
func (r *room) amend(i int) {
	r.t.Helper()
	if r.at[i] < pending {
		return
	}
	r.amended++
	t := &span.Trace{ID: r.traces[i].ID, Spans: []*span.Span{late(r.traces[i], r.amended, r.traces[0])}}
	if r.amended%2 == 0 {
		t.Spans = append(t.Spans, claim(r.traces[i], r.amended))
	}
	if r.amended%3 == 0 {
		t.Spans = append(t.Spans, aftermath(r.traces[i], r.amended))
	}
	must(r.t, r.oracle.Write(
		r.t.Context(),
		&store.Batch{Revision: int64(r.amended) + 1, AsOf: asOf, Amendments: []*span.Trace{t}},
	))
	e := &journal.Entry{Item: journal.Item{For: journal.Archive, Amends: true}, Trace: t}
	r.amendments[i] = append(r.amendments[i], e)
	r.publish([]*journal.Entry{e})
}

// claim returns a new claim about the root of a trace.
func claim(of *span.Trace, n int) *span.Span {
	root, at := of.Root(), spantest.At(2000+n)
	outcome := []span.Outcome{span.Failed, span.Deleted}[n/2%2]
	return &span.Span{
		TraceID: of.ID, ID: span.DeriveID(of.ID, "claim", fmt.Sprint(n)), Parent: root.ID, Name: span.NameAmend,
		Service: root.Service, Object: root.Object, Start: at, End: at, Outcome: outcome,
		Attributes: []attribute.KeyValue{span.KeyClaim.Int(1 + n), span.KeyTraceOutcome.String(string(outcome))},
	}
}

// aftermath returns an aftermath of a trace.
func aftermath(of *span.Trace, n int) *span.Span {
	root, at := of.Root(), spantest.At(2000+n)
	a := span.Aftermath{
		Converged: root.End.Time, Window: time.Hour, Latest: at.Time, Incidents: span.Incidents{Restarts: n},
	}
	return &span.Span{
		TraceID: of.ID, ID: span.DeriveID(of.ID, "aftermath", fmt.Sprint(n)), Parent: root.ID, Name: span.NameAftermath,
		Service: root.Service, Object: of.Spans[len(of.Spans)-1].Object, Start: at, End: at,
		Attributes: a.Attributes(n%2, n),
	}
}

func late(of *span.Trace, n int, linked *span.Trace) *span.Span {
	at := spantest.At(n)
	object := spantest.Ref("", "ConfigMap", fmt.Sprint("late-", n%5))
	if n%5 == 0 {
		object.Namespace = "shop"
	}
	return &span.Span{
		TraceID:    of.ID,
		ID:         span.DeriveID(of.ID, "late", fmt.Sprint(n)),
		Parent:     of.Spans[0].ID,
		Evidence:   span.ByOwner,
		Name:       "update ConfigMap",
		Service:    "someone",
		Object:     object,
		Start:      at,
		End:        at,
		Attributes: []attribute.KeyValue{span.KeyVerb.String("update"), span.KeyStatusCode.Int(200)},
		Links: []span.Link{
			{TraceID: linked.ID, SpanID: linked.Spans[0].ID, Reason: "previous", Evidence: span.ByOwner},
		},
	}
}

// some returns traces with few different starts, some objects in common, and links between them.
func some(random *rand.Rand, n int) []*span.Trace {
	var out []*span.Trace
	for i := range n {
		b := spantest.New(fmt.Sprint("trace ", i))
		start := 100 * random.IntN(n/3+1)
		d := b.Deployment(nil, start, start+100+random.IntN(3000))
		b.Pod(d, fmt.Sprint("pod-", random.IntN(4)), start+50, start+3000)
		for _, s := range b.Trace.Spans {
			if i%3 == 0 || i%3 == 1 && s == d {
				s.Object.Namespace = "shop"
			}
		}
		if len(out) > 0 {
			other := out[random.IntN(len(out))]
			d.Links = []span.Link{{TraceID: other.ID, SpanID: other.Spans[0].ID, Reason: "previous"}}
		}
		out = append(out, b.Trace)
	}
	return out
}

// lists reads all pages, and calls between after each.
func lists(t *testing.T, from store.Reader, q store.Query, between func()) (out []store.Summary) {
	t.Helper()
	for {
		page, err := from.List(t.Context(), q)
		must(t, err)
		if page.Incomplete != "" || len(page.Traces) > store.PageLength(q.Limit) {
			t.Fatalf("a page of %d traces: %q", len(page.Traces), page.Incomplete)
		}
		out = append(out, page.Traces...)
		if q.After = page.Next; q.After == "" {
			return out
		}
		between()
	}
}

func writes(t *testing.T, from store.Reader, q store.WriteQuery, between func()) (out []store.Write) {
	t.Helper()
	for {
		page, err := from.Writes(t.Context(), q)
		must(t, err)
		if page.Incomplete != "" || len(page.Writes) > store.PageLength(q.Limit) {
			t.Fatalf("a page of %d writes: %q", len(page.Writes), page.Incomplete)
		}
		out = append(out, page.Writes...)
		if q.After = page.Next; q.After == "" {
			return out
		}
		between()
	}
}

func nothing() {}

// TestDelayed: while the looks cannot be stored, no answer is complete, and no trace is certainly absent.
func TestDelayed(t *testing.T) {
	r := newRoom(t)
	traces := some(rand.New(rand.NewPCG(1, 1)), 3)
	for i, tr := range traces {
		r.add(tr)
		for range 1 + 2*min(i, 1) { // the first is open, and the others are archived
			r.move(i)
		}
	}
	const want = "what happened since 2026-03-01T13:00:00Z is missing: it cannot be stored: no space left"
	where, err := question.Parse("true")
	must(t, err)
	incomplete := func() (out []string) {
		ctx := t.Context()
		list, err := r.view.List(ctx, store.Query{})
		must(t, err)
		writes, err := r.view.Writes(ctx, store.WriteQuery{})
		must(t, err)
		found, err := r.view.Find(ctx, store.FindQuery{Where: where, Now: asOf})
		must(t, err)
		groups, err := r.view.Group(ctx, store.GroupQuery{FindQuery: store.FindQuery{Where: where, Now: asOf}})
		must(t, err)
		density, err := r.view.Density(ctx, store.DensityQuery{
			Query: store.Query{Since: asOf.Add(-time.Hour), Until: asOf}, Buckets: 10,
		})
		must(t, err)
		return []string{list.Incomplete, writes.Incomplete, found.Incomplete, groups.Incomplete, density.Incomplete}
	}
	r.view.Delayed(fmt.Errorf("cannot write to journal /var/lib/x: %w", store.ErrFull))
	if got := incomplete(); slices.ContainsFunc(got, func(s string) bool { return s != want }) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := r.view.Trace(t.Context(), store.Scope{}, trace.TraceID{9}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an unknown trace: %v, want that it may come", err)
	}
	if _, err := r.view.Between(
		t.Context(), store.Scope{}, trace.TraceID{9}, trace.TraceID{9}, 1,
	); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an unknown ID: %v, want that it may come", err)
	}
	if _, err := r.view.Trace(t.Context(), store.Scope{}, traces[2].ID); err != nil {
		t.Errorf("a known trace: %v", err)
	}
	r.view.Delayed(nil)
	if got := incomplete(); slices.ContainsFunc(got, func(s string) bool { return s != "" }) {
		t.Errorf("after a stored look: %q", got)
	}
}

// permitted returns the oracle for a scope: an archive that has what the scope permits of all traces, and nothing else.
func (r *room) permitted(s store.Scope) *sqlite.Store {
	r.t.Helper()
	if s.Key() == "" {
		return r.oracle
	}
	out, err := sqlite.Open(r.t.Context(), store.Config{Path: filepath.Join(r.t.TempDir(), "permitted.db")})
	must(r.t, err)
	r.t.Cleanup(func() { must(r.t, out.Close()) })
	var visible []*span.Trace
	for _, tr := range r.traces {
		whole := &span.Trace{ID: tr.ID, Outcome: tr.Outcome, Reason: tr.Reason}
		parts, err := r.oracle.Batches(r.t.Context(), tr.ID)
		must(r.t, err)
		for _, b := range parts {
			for _, part := range slices.Concat(b.Finished, b.Amendments) {
				whole.Spans = append(whole.Spans, part.Spans...)
			}
		}
		if part := rights.Project(whole, rights.Sees{
			Object: s.Permits, Trace: func(id trace.TraceID) bool { return r.permits(s, id) },
		}); part != nil {
			visible = append(visible, part)
		}
	}
	must(r.t, out.Write(r.t.Context(), &store.Batch{Revision: 1, AsOf: asOf, Finished: visible}))
	return out
}

// permits reports whether a trace has a visible span.
func (r *room) permits(s store.Scope, id trace.TraceID) bool {
	r.t.Helper()
	of, err := r.oracle.Trace(r.t.Context(), store.Scope{}, id)
	must(r.t, err)
	return rights.Project(of.Trace, rights.Sees{Object: s.Permits}) != nil
}

// anyScope returns a random scope. The view of a room has the cluster "c".
func anyScope(random *rand.Rand) store.Scope {
	return [...]store.Scope{
		{}, {}, {Namespaces: []string{"default"}}, {Namespaces: []string{"shop"}},
		{Namespaces: []string{"default", "shop"}}, {Namespaces: []string{"default", ""}}, {Namespaces: []string{}},
		{Without: []store.Guarded{{Kind: "Pod"}}}, {Without: []store.Guarded{{Kind: "Pod", Except: []string{"shop"}}}},
		{Namespaces: []string{"default"}, Without: []store.Guarded{{Group: "apps", Kind: "Deployment"}}},
	}[random.IntN(10)]
}

// anyQuery returns a random query. Each matches a trace in all places or in none.
func anyQuery(random *rand.Rand) store.Query {
	q := store.Query{Scope: anyScope(random), Limit: 1 + random.IntN(6)}
	switch random.IntN(6) {
	case 0:
		q.Object = object.Ref{Kind: object.Kind{Kind: "Pod"}, Name: fmt.Sprint("pod-", random.IntN(5))}
	case 1:
		q.Object = object.Ref{Name: fmt.Sprint("late-", random.IntN(5))} // of amendments
	case 2:
		q.Object = object.Ref{Namespace: "default", Kind: object.Kind{Kind: "Deployment"}}
	case 3:
		q.Since, q.Until = spantest.At(200).Time, spantest.At(900).Time
	case 4:
		q.Slower = 1500 * time.Millisecond
	}
	if random.IntN(4) == 0 {
		q.Outcomes = []span.Outcome{span.Converged}
	}
	return q
}

// density compares the counts of a query with its list. Objects of amendments in the log do not count.
func (r *room) density(q store.Query) {
	r.t.Helper()
	if strings.HasPrefix(q.Object.Name, "late-") {
		return
	}
	q.Since, q.Until = spantest.Epoch, spantest.Epoch.Add(time.Second)
	d := store.DensityQuery{Query: q, Buckets: 7}
	want := &store.Density{Buckets: make([]store.Bucket, d.Buckets)}
	for _, sum := range lists(r.t, r.view, q, nothing) {
		want.Add(&d, &sum)
	}
	got, err := r.view.Density(r.t.Context(), d)
	must(r.t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("%+v: -list +density:\n%s", q, diff)
	}
	d.Where, d.Now = where(r.t, `kind == "Pod" && name.endsWith("1")`), asOf
	find := d.Lifecycles()
	find.Scope, find.Traces = q.Scope, true
	matching := map[trace.TraceID]bool{}
	for _, l := range finds(r.t, r.view, find, nothing) {
		matching[l.Trace] = true
	}
	want = &store.Density{Buckets: make([]store.Bucket, d.Buckets)}
	for _, sum := range lists(r.t, r.view, q, nothing) {
		if matching[sum.ID] {
			want.Add(&d, &sum)
		}
	}
	got, err = r.view.Density(r.t.Context(), d)
	must(r.t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("%+v, %s: -list +density:\n%s", q, d.Where, diff)
	}
}

// anywhere ignores what depends on the place of a trace.
var anywhere = cmpopts.IgnoreFields(store.Summary{}, "Open", "AsOf", "Revision")

// TestAnyPlace moves traces and amendments at random through the three places. In between all
// questions have the answers of an archive that has everything. Pages are read while traces move.
func TestAnyPlace(t *testing.T) {
	seeds, rounds := uint64(6), 40
	if testing.Short() {
		seeds, rounds = 2, 10
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { anyPlace(t, rand.New(rand.NewPCG(seed, 1)), rounds) })
	}
}

func anyPlace(t *testing.T, random *rand.Rand, rounds int) {
	t.Helper()
	const n = 18
	r := newRoom(t)
	for _, tr := range some(random, n) {
		r.add(tr)
		r.move(len(r.at) - 1)
	}
	step := func() {
		for range random.IntN(4) {
			r.move(random.IntN(n))
		}
	}
	for round := range rounds {
		if random.IntN(3) == 0 {
			r.amend(random.IntN(n))
		}
		if random.IntN(8) == 0 {
			r.reopen()
		}
		q := anyQuery(random)
		all := q
		all.Scope = store.Scope{}
		want := lists(t, r.permitted(q.Scope), all, nothing)
		got := lists(t, r.view, q, step)
		if d := cmp.Diff(want, got, anywhere); d != "" {
			t.Fatalf("round %d, %+v: -oracle +view:\n%s", round, q, d)
		}
		w := store.WriteQuery{Scope: anyScope(random), Limit: q.Limit, Object: q.Object, Since: q.Since, Until: q.Until}
		if random.IntN(3) == 0 {
			w.Actor = []string{"kubectl", "someone"}[random.IntN(2)]
		}
		allWrites := w
		allWrites.Scope = store.Scope{}
		if d := cmp.Diff(
			writes(t, r.permitted(w.Scope), allWrites, nothing), writes(t, r.view, w, step), cmpopts.EquateEmpty(),
		); d != "" {
			t.Fatalf("round %d, writes of %+v: -oracle +view:\n%s", round, w, d)
		}
		r.density(q)
		r.one(random.IntN(n), store.Scope{})
		r.one(random.IntN(n), anyScope(random))
		r.between(anyScope(random))
		r.counts(anyScope(random))
		step()
	}
	r.between(store.Scope{})
	for moved := true; moved; {
		moved = false
		for i := range n {
			moved = r.move(i) || moved
		}
	}
	for i := range n {
		r.one(i, store.Scope{})
	}
	r.between(store.Scope{})
	if d := cmp.Diff(
		lists(t, r.oracle, store.Query{}, nothing),
		lists(t, r.view, store.Query{}, nothing),
		anywhere,
	); d != "" {
		t.Errorf("in the end: -oracle +view:\n%s", d)
	}
	got, err := r.view.Stats(t.Context(), store.Scope{})
	must(t, err)
	want, err := r.archive.Stats(t.Context(), store.Scope{})
	must(t, err)
	if d := cmp.Diff(want, got); d != "" || want.Traces != n {
		t.Errorf("-archive +view:\n%s", d)
	}
}

// counts compares the number of traces with the oracle.
func (r *room) counts(s store.Scope) {
	r.t.Helper()
	want, err := r.permitted(s).Stats(r.t.Context(), store.Scope{})
	must(r.t, err)
	got, err := r.view.Stats(r.t.Context(), s)
	must(r.t, err)
	if got.Traces != want.Traces {
		r.t.Errorf("%+v: %d traces are counted, want %d", s, got.Traces, want.Traces)
	}
}

// one compares one trace and its causes with the oracle.
func (r *room) one(i int, s store.Scope) {
	r.t.Helper()
	id := r.traces[i].ID
	causes, err := r.permitted(s).Causes(r.t.Context(), store.Scope{}, id)
	must(r.t, err)
	found, err := r.view.Causes(r.t.Context(), s, id)
	must(r.t, err)
	if d := cmp.Diff(causes, found, cmpopts.EquateEmpty()); d != "" {
		r.t.Errorf("causes of trace %d, %+v: -oracle +view:\n%s", i, s, d)
	}
	want, err := r.oracle.Trace(r.t.Context(), s, id) // its caller projects it
	if errors.Is(err, store.ErrNotFound) {
		if _, err = r.view.Trace(r.t.Context(), s, id); !errors.Is(err, store.ErrNotFound) {
			r.t.Errorf("trace %d, which is outside %+v: %v", i, s, err)
		}
		return
	}
	must(r.t, err)
	got, err := r.view.Trace(r.t.Context(), s, id)
	must(r.t, err)
	if d := cmp.Diff(want, got, anywhere, cmpopts.EquateEmpty(), cmp.AllowUnexported(attribute.Value{})); d != "" {
		r.t.Errorf("trace %d: -oracle +view:\n%s", i, d)
	}
	if got.Open != (r.at[i] == open) {
		r.t.Errorf("trace %d in place %d is open %t", i, r.at[i], got.Open)
	}
}

// between compares ranges of IDs with the oracle.
func (r *room) between(s store.Scope) {
	r.t.Helper()
	permitted := r.permitted(s)
	for first := range 16 {
		low, high := trace.TraceID{byte(first) << 4}, trace.TraceID{byte(first)<<4 | 15}
		for i := range high[1:] {
			high[i+1] = 0xff
		}
		for _, limit := range []int{1, 2, 100} {
			want, err := permitted.Between(r.t.Context(), store.Scope{}, low, high, limit)
			must(r.t, err)
			got, err := r.view.Between(r.t.Context(), s, low, high, limit)
			must(r.t, err)
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
				r.t.Errorf("IDs that begin with %x: -oracle +view:\n%s", first, d)
			}
		}
	}
}

// TestReadWhileMoving pages through lists while another goroutine moves all traces through the three
// places. Each list has each matching trace, and each write, exactly once.
func TestReadWhileMoving(t *testing.T) {
	n := 60
	if testing.Short() {
		n = 20
	}
	random := rand.New(rand.NewPCG(7, 7))
	r := newRoom(t)
	for _, tr := range some(random, n) {
		r.add(tr)
		r.move(len(r.at) - 1)
	}
	ids := func(all []store.Summary) (out []trace.TraceID) {
		for i := range all {
			out = append(out, all[i].ID)
		}
		return out
	}
	pods := store.Query{Limit: 3, Object: object.Ref{Name: "pod-1"}}
	want, wantPods := ids(lists(t, r.oracle, store.Query{}, nothing)), ids(lists(t, r.oracle, pods, nothing))
	wantWrites := writes(t, r.oracle, store.WriteQuery{}, nothing)
	moved := make(chan struct{})
	var reading sync.WaitGroup
	for range 2 {
		reading.Go(func() {
			for ended := false; !ended; {
				select {
				case <-moved:
					ended = true // the last list follows the last move
				default:
				}
				if d := cmp.Diff(want, ids(lists(t, r.view, store.Query{Limit: 7}, nothing))); d != "" {
					t.Errorf("all: -want +got:\n%s", d)
				}
				if d := cmp.Diff(wantPods, ids(lists(t, r.view, pods, nothing))); d != "" {
					t.Errorf("pods: -want +got:\n%s", d)
				}
				if d := cmp.Diff(wantWrites, writes(t, r.view, store.WriteQuery{Limit: 11}, nothing)); d != "" {
					t.Errorf("writes: -want +got:\n%s", d)
				}
				if _, err := r.view.Trace(t.Context(), store.Scope{}, want[0]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 2 {
		for _, i := range random.Perm(n) {
			r.move(i)
		}
	}
	close(moved)
	reading.Wait()
}

// TestBeforeTheFirstLook: every question is answered with an error that asks for a retry.
func TestBeforeTheFirstLook(t *testing.T) {
	r := newRoom(t)
	r.add(spantest.Apply())
	r.move(0)
	r.move(0) // pending
	left, err := r.journal.Pending(t.Context(), journal.Archive)
	must(t, err)
	v := view.New(r.journal.Read, func() (store.Stored, error) { return r.archive, nil })
	for _, when := range []string{"new", "restored", "archived"} {
		id := r.traces[0].ID
		_, err1 := v.Trace(t.Context(), store.Scope{}, id)
		_, err2 := v.List(t.Context(), store.Query{})
		_, err3 := v.Writes(t.Context(), store.WriteQuery{})
		_, err4 := v.Causes(t.Context(), store.Scope{}, id)
		_, err5 := v.Between(t.Context(), store.Scope{}, id, id, 1)
		_, err6 := v.Stats(t.Context(), store.Scope{})
		for i, err := range []error{err1, err2, err3, err4, err5, err6} {
			if !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("%s, question %d: %v", when, i, err)
			}
		}
		if when == "new" {
			v.Restore(left)
		} else {
			v.Archived([]uint64{left[0].Seq})
		}
	}
	v.Publish(asOf, 1, nil, nil)
	if _, err := v.List(t.Context(), store.Query{}); err != nil {
		t.Error(err)
	}
}

// TestWithoutTheArchive: what is in memory is answered, and lists say that they are incomplete.
func TestWithoutTheArchive(t *testing.T) {
	r := newRoom(t)
	all := some(rand.New(rand.NewPCG(1, 1)), 3)
	for i, tr := range all {
		r.add(tr)
		for range i + 1 {
			r.move(i)
		}
	}
	if r.at[0] != open || r.at[1] != pending || r.at[2] != archived {
		t.Fatal(r.at)
	}
	r.away = fmt.Errorf("%w: the disk is broken", store.ErrUnavailable)
	page, err := r.view.List(t.Context(), store.Query{})
	must(t, err)
	if len(page.Traces) != 2 || page.Incomplete != r.away.Error() {
		t.Errorf("%d traces, %q", len(page.Traces), page.Incomplete)
	}
	opened, err := r.view.List(t.Context(), store.Query{Open: true, Limit: 1})
	must(t, err)
	if len(opened.Traces) != 1 || opened.Traces[0].ID != all[0].ID || opened.Next != "" {
		t.Errorf("open: %+v", opened)
	}
	written, err := r.view.Writes(t.Context(), store.WriteQuery{})
	must(t, err)
	if len(written.Writes) != 4 || written.Incomplete != r.away.Error() {
		t.Errorf("%d writes, %q", len(written.Writes), written.Incomplete)
	}
	for i, tr := range all {
		var want error
		if i == 2 {
			want = store.ErrUnavailable
		}
		_, err1 := r.view.Trace(t.Context(), store.Scope{}, tr.ID)
		_, err2 := r.view.Causes(t.Context(), store.Scope{}, tr.ID)
		_, err3 := r.view.Between(t.Context(), store.Scope{}, tr.ID, tr.ID, 1)
		for question, err := range []error{err1, err2, err3} {
			if !errors.Is(err, want) {
				t.Errorf("trace %d, question %d: %v, want %v", i, question, err, want)
			}
		}
	}
	stats, err := r.view.Stats(t.Context(), store.Scope{})
	must(t, err)
	if stats.Traces != 2 || stats.Open != 1 {
		t.Errorf("%+v", stats)
	}
	r.away = nil
	if got := lists(t, r.view, store.Query{Limit: 1}, nothing); len(got) != 3 {
		t.Errorf("%d traces with the archive again", len(got))
	}
}

// failing is an archive with an error.
type failing struct {
	store.Stored
	err error
	end context.CancelFunc
}

func (f *failing) Trace(context.Context, store.Scope, trace.TraceID) (*store.Record, error) {
	if f.end != nil {
		f.end()
	}
	return nil, f.err
}

// TestFailingArchive: a finished trace in the log is answered after any error of the archive. The end
// of the caller's context ends the question.
func TestFailingArchive(t *testing.T) {
	for name, tc := range map[string]struct {
		err error
		end bool
	}{
		"not there":             {err: store.ErrNotFound},
		"damaged":               {err: store.ErrDamaged},
		"error of the disk":     {err: errors.New("disk I/O error")},
		"deadline of its own":   {err: context.DeadlineExceeded},
		"context of the caller": {err: context.Canceled, end: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.add(spantest.Apply())
			r.move(0)
			r.move(0)
			left, err := r.journal.Pending(t.Context(), journal.Archive)
			must(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			archive := &failing{err: tc.err}
			if tc.end {
				archive.end = cancel
			}
			v := view.New(r.journal.Read, func() (store.Stored, error) { return archive, nil })
			v.Restore(left)
			v.Publish(asOf, r.looks, nil, nil)
			got, err := v.Trace(ctx, store.Scope{}, r.traces[0].ID)
			if tc.end {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				return
			}
			must(t, err)
			if len(got.Trace.Spans) != len(r.traces[0].Spans) {
				t.Errorf("%d spans", len(got.Trace.Spans))
			}
		})
	}
}

// TestLeavesTheLog: an entry that moves to the archive after a question has begun is answered from
// there, once.
func TestLeavesTheLog(t *testing.T) {
	for name, ask := range map[string]func(*testing.T, *view.View, trace.TraceID) (int, error){
		"Trace": func(t *testing.T, v *view.View, id trace.TraceID) (int, error) {
			r, err := v.Trace(t.Context(), store.Scope{}, id)
			if err == nil && len(r.Trace.Spans) != 10 {
				err = fmt.Errorf("it has %d spans", len(r.Trace.Spans))
			}
			return 1, err
		},
		"List": func(t *testing.T, v *view.View, _ trace.TraceID) (int, error) {
			return len(lists(t, v, store.Query{}, nothing)), nil
		},
		"List of an object": func(t *testing.T, v *view.View, _ trace.TraceID) (int, error) {
			return len(lists(t, v, store.Query{Object: object.Ref{Name: "web"}}, nothing)), nil
		},
		"Writes": func(t *testing.T, v *view.View, _ trace.TraceID) (int, error) {
			return len(writes(t, v, store.WriteQuery{}, nothing)) / 2, nil
		},
		"Causes": func(t *testing.T, v *view.View, id trace.TraceID) (int, error) {
			all, err := v.Causes(t.Context(), store.Scope{}, id)
			return len(all) / 9, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			r.add(spantest.Apply())
			r.move(0)
			r.move(0)
			left, err := r.journal.Pending(t.Context(), journal.Archive)
			must(t, err)
			reads := 0
			v := view.New(func(ctx context.Context, seq uint64) (*span.Trace, error) {
				if reads++; reads == 1 {
					r.move(0)
				}
				return r.journal.Read(ctx, seq)
			}, func() (store.Stored, error) { return r.archive, nil })
			v.Restore(left)
			v.Publish(asOf, r.looks, nil, nil)
			if n, err := ask(t, v, r.traces[0].ID); err != nil || n != 1 || reads == 0 {
				t.Errorf("%d times (%v) after %d reads, want once", n, err, reads)
			}
		})
	}
}

// TestFinishedTwice: of two finished versions the first is valid, in the log and in the archive, and
// the spans of both are there. An open version with the same ID does not hide the one in the log.
func TestFinishedTwice(t *testing.T) {
	r := newRoom(t)
	first, second := spantest.Apply(), spantest.Apply()
	second.Outcome = span.Unfinished
	extra := *second.Spans[1]
	extra.ID = trace.SpanID{77}
	second.Spans = []*span.Span{second.Spans[0], &extra}
	r.add(first)
	r.move(0)
	r.move(0)
	e := &journal.Entry{Item: journal.Item{For: journal.Archive}, Trace: second}
	must(t, r.journal.Commit(t.Context(), &journal.Changes{AsOf: asOf, Entries: []*journal.Entry{e}}))
	r.view.Publish(asOf, e.Revision, []*span.Trace{second}, []*journal.Entry{e})
	whole := func(where string) {
		t.Helper()
		got, err := r.view.Trace(t.Context(), store.Scope{}, first.ID)
		must(t, err)
		if n := len(got.Trace.Spans); n != len(first.Spans)+1 || got.Spans != n || got.Outcome != span.Converged {
			t.Errorf("%s: %s with %d spans, want one more than %d", where, got.Outcome, n, len(first.Spans))
		}
	}
	for range 2 {
		got := lists(t, r.view, store.Query{}, nothing)
		if len(got) != 1 || got[0].Open || got[0].Outcome != span.Converged {
			t.Errorf("got %+v", got)
		}
		if len(lists(t, r.view, store.Query{Open: true}, nothing)) > 0 {
			t.Error("it is open")
		}
		whole("in memory or in the archive")
		r.move(0)
		r.view.Publish(asOf, e.Revision+1, nil, nil)
		whole("the first version is archived")
		r.write(e)
		r.view.Publish(asOf, e.Revision+1, nil, nil)
	}
}

// TestHeldAndEntry: the entries in memory are those for a lost journal; Entry reads the others from
// the journal.
func TestHeldAndEntry(t *testing.T) {
	r := newRoom(t)
	if held := r.view.Held(); len(held) > 0 {
		t.Errorf("%d are held at first", len(held))
	}
	for i, tr := range some(rand.New(rand.NewPCG(1, 1)), 3) {
		r.add(tr)
		r.move(i)
		r.move(i)
	}
	var seqs []uint64
	for _, e := range r.view.Held() {
		seqs = append(seqs, e.Seq)
		if got, err := r.view.Entry(t.Context(), e.Seq); err != nil || got != e.Trace {
			t.Errorf("entry %d: %v", e.Seq, err)
		}
	}
	if len(seqs) != 3 || !slices.IsSorted(seqs) {
		t.Errorf("held are %v", seqs)
	}
	r.reopen()
	if held := r.view.Held(); len(held) > 0 {
		t.Errorf("%d of an earlier process are in memory", len(held))
	}
	if got, err := r.view.Entry(t.Context(), seqs[1]); err != nil || got.ID != r.traces[1].ID {
		t.Errorf("from the journal: %v", err)
	}
	r.move(1)
	if _, err := r.view.Entry(t.Context(), seqs[1]); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an archived entry: %v", err)
	}
}

// TestInvalidCursor: a cursor of another list is an error.
func TestInvalidCursor(t *testing.T) {
	r := newRoom(t)
	if _, err := r.view.List(t.Context(), store.Query{After: "x"}); !errors.Is(err, store.ErrCursor) {
		t.Error(err)
	}
	if _, err := r.view.Writes(t.Context(), store.WriteQuery{After: "x"}); !errors.Is(err, store.ErrCursor) {
		t.Error(err)
	}
}
