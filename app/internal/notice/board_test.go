// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

var epoch = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// at returns the time that many seconds after epoch.
func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// deployment returns a trace with one open span. A category, and the time since when, are optional.
func deployment(n byte, category string, since int) *span.Trace {
	id := trace.TraceID{15: n}
	root := &span.Span{
		TraceID: id, ID: trace.SpanID{7: n}, Name: "reconcile Deployment", Start: span.Time{Time: epoch},
		Object: object.Ref{
			Kind:      object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
			Namespace: "shop", Name: fmt.Sprintf("web-%d", n), UID: "u",
		},
	}
	t := &span.Trace{ID: id, Spans: []*span.Span{root}, Outcome: span.Unfinished}
	if category != "" {
		t.Reason = "Pod web-x cannot pull image web:9"
		root.Attributes = append(root.Attributes, span.KeyReason.String(category),
			span.KeyReasonObject.String("Pod web-x"), span.KeyReasonNext.String("kubectl describe pod/web-x"))
		if since >= 0 {
			root.Attributes = append(root.Attributes, span.KeyReasonSince.String(at(since).Format(time.RFC3339Nano)))
		}
	}
	return t
}

// ended returns t with an end and an outcome.
func ended(t *span.Trace, outcome span.Outcome) *span.Trace {
	t.Outcome = outcome
	t.Spans[0].End, t.Spans[0].Outcome = span.Time{Time: at(900)}, outcome
	return t
}

// ref returns a Deployment of the namespace shop.
func ref(name string) object.Ref {
	return object.Ref{
		Kind:      object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Namespace: "shop", Name: name, UID: "u",
	}
}

// broken returns a problem of the Deployments with these names.
func broken(id, category string, since int, names ...string) problem.Problem {
	p := problem.Problem{
		ID: id, Category: category, Reason: "Deployment " + names[0] + " has " + category, Since: at(since),
		Object: ref(names[0]), Count: len(names), Namespaces: []string{"shop"},
	}
	for _, name := range names {
		p.Objects = append(p.Objects, ref(name))
	}
	return p
}

// list returns the problems as the complete list.
func list(all ...problem.Problem) *problem.Snapshot {
	return &problem.Snapshot{List: problem.List{AsOf: epoch, Problems: all}}
}

// everything are receivers with one of each type, after a minute.
func everything() []Receiver { return []Receiver{{Name: "r", After: time.Minute, Types: Types()}} }

func newBoard(t *testing.T, receivers []Receiver, data []byte) *Board {
	t.Helper()
	b, err := NewBoard(receivers, data)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// due returns the new notices for the first receiver, as "started p1 crash_loop".
func due(b *Board, known *int) string {
	var out []string
	for _, e := range b.receivers[0].queue.all[*known:] {
		_, typ, _ := strings.Cut(e.Type.Short(), ".")
		out = append(out, strings.Join(strings.Fields(typ+" "+e.Problem+" "+e.Category), " "))
	}
	*known = len(b.receivers[0].queue.all)
	return strings.Join(out, ", ")
}

func TestBoard(t *testing.T) {
	type step struct {
		at       int
		problems *problem.Snapshot
		finished []*span.Trace
		want     string
	}
	end := func(category string, outcome span.Outcome) []*span.Trace {
		return []*span.Trace{ended(deployment(1, category, 0), outcome)}
	}
	pull, crash := broken("p1", "image_pull", 5, "web"), broken("p1", "crash_loop", 5, "web")
	more := broken("p1", "image_pull", 5, "web", "api", "db")
	caused := broken("p9", "image_pull", 0, "other")
	caused.Cause = &problem.Cause{TraceID: trace.TraceID{15: 1}.String()}
	for name, steps := range map[string][]step{
		"lasts, then ends": {
			{at: 10, problems: list(pull)}, {at: 64, problems: list(pull)},
			{at: 65, problems: list(pull), want: "started p1 image_pull"},
			{at: 600, problems: list(pull)}, {at: 601, problems: list(), want: "resolved p1 image_pull"},
			{at: 900, problems: list()},
		},
		"ends early": {
			{at: 10, problems: list(pull)}, {at: 60, problems: list()}, {at: 200, problems: list()},
		},
		"older than the server": {{at: 3600, problems: list(pull), want: "started p1 image_pull"}},
		"more objects and another reason": {
			{at: 65, problems: list(pull), want: "started p1 image_pull"},
			{at: 70, problems: list(more)}, {at: 71, problems: list(pull)},
		},
		"another category that lasts": {
			{at: 65, problems: list(pull), want: "started p1 image_pull"},
			{at: 70, problems: list(crash)}, {at: 100, problems: list(pull)}, {at: 110, problems: list(crash)},
			{at: 169, problems: list(crash)}, {at: 170, problems: list(crash), want: "changed p1 crash_loop"},
			{at: 500, problems: list(), want: "resolved p1 crash_loop"},
		},
		"comes again": {
			{at: 65, problems: list(pull), want: "started p1 image_pull"},
			{at: 70, problems: list(), want: "resolved p1 image_pull"},
			{at: 200, problems: list(broken("p2", "image_pull", 100, "web")), want: "started p2 image_pull"},
		},
		"becomes part of another problem": {
			{at: 65, problems: list(pull), want: "started p1 image_pull"},
			{at: 70, problems: list(broken("p2", "webhook", 0, "api", "web"))},
			{at: 600, problems: list(broken("p2", "webhook", 0, "api", "web")), want: "changed p1 webhook"},
			{at: 610, problems: list(), want: "resolved p1 webhook"},
		},
		"an incomplete list ends nothing": {
			{at: 65, problems: list(pull), want: "started p1 image_pull"},
			{at: 70, problems: &problem.Snapshot{List: problem.List{AsOf: epoch, More: 1}}},
			{at: 71, problems: &problem.Snapshot{}},
			{at: 80, problems: list(), want: "resolved p1 image_pull"},
		},
		"the worst first": {{
			at: 900, problems: list(broken("p3", "crash_loop", 9, "api"), pull),
			want: "started p3 crash_loop, started p1 image_pull",
		}},
		"a failed change without a problem": {
			{at: 1, finished: end("job_failed", span.Failed), want: "failed job_failed"},
		},
		"a failed change that caused a problem": {
			{at: 1, problems: list(caused), finished: end("image_pull", span.Failed)},
			{at: 60, problems: list(caused), want: "started p9 image_pull"},
		},
		"a failed change of an object with a problem": {
			{at: 1, problems: list(broken("p1", "x", 0, "web-1")), finished: end("x", span.Failed)},
		},
		"unfinished with a reason":    {{at: 1, finished: end("paused", span.Unfinished), want: "failed paused"}},
		"unfinished without a reason": {{at: 1, finished: end("", span.Unfinished)}},
		"converged":                   {{at: 1, finished: end("", span.Converged)}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t, everything(), nil)
			known := 0
			for i, l := range steps {
				if l.problems == nil {
					l.problems = list()
				}
				b.Look(at(l.at), l.problems, l.finished, false)
				if got := due(b, &known); got != l.want {
					t.Errorf("step %d: got %q, want %q", i, got, l.want)
				}
			}
			seen := map[string]bool{}
			for _, e := range b.receivers[0].queue.all {
				if seen[e.ID] {
					t.Errorf("two notices have the ID %s", e.ID)
				}
				seen[e.ID] = true
			}
		})
	}
}

// TestBoardRestarts: a restart after each look changes no notice.
func TestBoardRestarts(t *testing.T) {
	pull, crash := broken("p1", "image_pull", 5, "web"), broken("p1", "crash_loop", 5, "web")
	one, again := newBoard(t, everything(), nil), newBoard(t, everything(), nil)
	for i, problems := range []*problem.Snapshot{
		list(pull), list(crash), list(crash), list(broken("p2", "webhook", 0, "web")), list(),
	} {
		now := at(100 * (i + 1))
		one.Look(now, problems, nil, false)
		again.Look(now, problems, nil, false)
		data, changed, err := again.State()
		if err != nil {
			t.Fatal(err)
		}
		if want := one.Changed(); changed != want {
			t.Errorf("look %d: changed is %t, want %t", i, changed, want)
		}
		if _, _, err := one.State(); err != nil {
			t.Fatal(err)
		}
		changing := again.receivers[0].told["p1"]
		again = newBoard(t, everything(), data)
		if now := again.receivers[0].told["p1"]; now != nil {
			now.changed = changing.changed // it is not saved: the wait begins again
		}
		again.Look(now, problems, nil, false) // the first one after the start
		var got, want []Notice
		for i, e := range again.receivers[0].queue.all {
			got, want = append(got, e.Notice), append(want, one.receivers[0].queue.all[i].Notice)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("look %d: -want +got\n%s", i, diff)
		}
	}
	known := 0
	if got := due(again, &known); got != "started p1 image_pull, changed p1 crash_loop, resolved p1 crash_loop" {
		t.Errorf("got %s", got)
	}
	if b, err := NewBoard(everything(), []byte("{")); err == nil || b == nil {
		t.Error("a damaged state gives no error, or no board")
	}
	other := newBoard(t, []Receiver{{Name: "new", Types: Types()}}, nil)
	if other.Due(at(9999)) {
		t.Error("a board without a look has a notice to make")
	}
}

// TestRestoredBoard: a server that starts without the problems of the last one has not seen their end. An object counts
// that is not named.
func TestRestoredBoard(t *testing.T) {
	tracker := problem.NewTracker("c")
	lacks := func(name string) {
		of := ref(name)
		of.UID = types.UID(name)
		tracker.Lacks(&problem.Failing{
			Object: of, Category: "image_pull", Key: problem.Grouping{Of: "image web:9"},
			Onset: problem.Onset{At: at(0)},
		}, at(0))
	}
	lacks("web-99")
	b := newBoard(t, everything(), nil)
	b.Look(at(70), tracker.Snapshot(at(70)), nil, false)
	for n := range 50 {
		lacks(fmt.Sprintf("web-%02d", n))
	}
	data, _, err := b.State()
	if err != nil {
		t.Fatal(err)
	}
	b = newBoard(t, everything(), data)
	known := 1
	b.Look(at(80), list(), nil, false)
	b.Look(at(139), list(), nil, false)
	if got := due(b, &known); got != "" || b.Due(at(139)) || !b.Due(at(140)) {
		t.Errorf("just after the start: got %q", got)
	}
	b.Look(at(140), tracker.Snapshot(at(140)), nil, false)
	if got := due(b, &known); got != "" {
		t.Errorf("with a problem of many objects: got %q", got)
	}
	b.Look(at(150), list(), nil, false)
	if got := due(b, &known); !strings.HasPrefix(got, "resolved ") {
		t.Errorf("after the end: got %q", got)
	}
}

// TestRestoredBoardOfNewEngine: a server with an empty engine may give the problem of a told object another
// ID. That is no second problem.
func TestRestoredBoardOfNewEngine(t *testing.T) {
	b := newBoard(t, everything(), nil)
	b.Look(at(70), list(broken("p1", "image_pull", 0, "web")), nil, false)
	data, _, err := b.State()
	if err != nil {
		t.Fatal(err)
	}
	b = newBoard(t, everything(), data)
	known := 1
	b.Look(at(80), list(), nil, false)
	b.Look(at(81), list(broken("p2", "image_pull", 1, "web")), nil, false)
	b.Look(at(150), list(broken("p2", "image_pull", 1, "web")), nil, false)
	if got := due(b, &known); got != "" {
		t.Errorf("got %q", got)
	}
	b.Look(at(160), list(), nil, false)
	if got := due(b, &known); got != "resolved p1 image_pull" {
		t.Errorf("after the end: got %q", got)
	}
}

// TestBoardBeyondList: a problem that the list leaves out lasts, and one that ends meanwhile has its notice.
func TestBoardBeyondList(t *testing.T) {
	tracker := problem.NewTracker("c")
	lacks := func(name string, rank int) {
		of := ref(name)
		of.UID = types.UID(name)
		tracker.Lacks(&problem.Failing{
			Object: of, Category: "crash_loop", Key: problem.Grouping{Of: name}, Rank: rank,
			Onset: problem.Onset{At: at(0)},
		}, at(0))
	}
	lacks("first", 1)
	lacks("second", 1)
	b, known := newBoard(t, everything(), nil), 2
	b.Look(at(70), tracker.Snapshot(at(70)), nil, false)
	for n := range problem.MaxProblems {
		lacks(fmt.Sprint("worse-", n), 2)
	}
	for _, ends := range []string{"", "second"} {
		tracker.Ends(types.UID(ends))
		s := tracker.Snapshot(at(75))
		if b.Look(at(75), &problem.Snapshot{List: problem.List{AsOf: s.AsOf, More: s.More}}, nil, false); s.More == 0 {
			t.Fatal("the list has all problems")
		}
		b.receivers[0].After = time.Hour // of the worse ones
		b.Look(at(75), s, nil, false)
	}
	if got := due(b, &known); !strings.HasPrefix(got, "resolved ") || strings.Contains(got, ",") ||
		b.receivers[0].queue.all[2].Object.Name != "second" {
		t.Errorf("got %q", got)
	}
}

// TestBoardReceivers: each receiver has its own time, types and namespaces.
func TestBoardReceivers(t *testing.T) {
	b := newBoard(t, []Receiver{
		{Name: "soon", After: time.Second, Types: []Type{Started, Resolved}},
		{Name: "late", After: time.Hour, Types: []Type{Started, Resolved}},
		{Name: "other", After: time.Second, Types: []Type{Started, Resolved}, Namespaces: []string{"bank"}},
		{Name: "changes", After: time.Second, Types: []Type{Failed}},
		{Name: "ends", After: time.Second, Types: []Type{Resolved}},
	}, nil)
	pull := broken("p1", "image_pull", 0, "web-1")
	b.Look(at(10), list(pull), []*span.Trace{ended(deployment(1, "image_pull", 0), span.Failed)}, false)
	if b.Due(at(3599)) || !b.Due(at(3600)) {
		t.Error("the receiver with an hour is not due after an hour")
	}
	b.Look(at(20), list(), nil, false)
	got := map[string]string{}
	for _, r := range b.receivers {
		for _, e := range r.queue.all {
			got[r.Name] += e.Type.Short() + " "
		}
	}
	want := map[string]string{
		"soon": "problem.started problem.resolved ", "changes": "change.failed ", "ends": "problem.resolved ",
	}
	if diff := cmp.Diff(want, got); diff != "" || b.Due(at(9999)) {
		t.Errorf("due %t; -want +got\n%s", b.Due(at(9999)), diff)
	}
}

// TestBoardManyNamespaces: a receiver has the problems of its namespace, also where a problem names only others.
func TestBoardManyNamespaces(t *testing.T) {
	tracker := problem.NewTracker("c")
	for i := range 30 {
		of := ref("web")
		of.Namespace, of.UID = fmt.Sprintf("team-%02d", i), types.UID(fmt.Sprint(i))
		tracker.Lacks(&problem.Failing{
			Object: of, Category: "image_not_found", Text: "cannot pull image web:2", Rank: 2,
			Onset: problem.Onset{At: at(0)}, Key: problem.Grouping{Category: "image_not_found", Of: "image web:2"},
		}, at(0))
	}
	all := tracker.Snapshot(at(10))
	if n := len(all.Problems); n != 1 || slices.Contains(all.Problems[0].Namespaces, "team-29") {
		t.Fatalf("%d problems with namespaces %v", n, all.Problems[0].Namespaces)
	}
	for namespace, want := range map[string]int{"team-00": 1, "team-29": 1, "team-30": 0} {
		b := newBoard(t, []Receiver{{Name: "r", Types: []Type{Started}, Namespaces: []string{namespace}}}, nil)
		b.Look(at(10), all, nil, false)
		if got := len(b.receivers[0].queue.all); got != want {
			t.Errorf("%s: got %d notices, want %d", namespace, got, want)
		}
	}
}

// TestSilentBoard takes over from another server, and repeats none of its notices.
func TestSilentBoard(t *testing.T) {
	b := newBoard(t, everything(), nil)
	pull := broken("p1", "image_pull", 0, "web")
	known := 0
	b.Look(at(70), list(pull), nil, true)
	b.Look(at(80), list(pull), nil, false)
	if got := due(b, &known); got != "" {
		t.Errorf("got %s", got)
	}
	b.Look(at(90), list(), nil, false)
	if got := due(b, &known); got != "resolved p1 image_pull" {
		t.Errorf("got %s", got)
	}
}

// TestBoardBounds: above the bound, notices about problems wait, and those about changes are dropped.
func TestBoardBounds(t *testing.T) {
	b := newBoard(t, everything(), nil)
	r := b.receivers[0]
	var finished []*span.Trace
	for range maxPending + 7 {
		finished = append(finished, ended(deployment(1, "job_failed", 0), span.Failed))
	}
	pull := broken("p1", "image_pull", 0, "web")
	b.Look(at(1), list(), finished, false)
	b.Look(at(70), list(pull), nil, false)
	if pending, dropped := b.waiting(r); pending != maxPending || dropped != 7 || len(r.told) != 0 {
		t.Errorf("%d are pending and %d dropped, %d told", pending, dropped, len(r.told))
	}
	b.Stored()
	known := maxPending - 1
	e, _ := b.next(r, at(70))
	b.done(r, e)
	b.Look(at(71), list(pull), nil, false)
	if got := due(b, &known); got != "started p1 image_pull" {
		t.Errorf("got %q", got)
	}
	b.Look(at(80), list(), nil, false)
	if pending, _ := b.waiting(r); pending != maxPending || len(r.told) != 1 {
		t.Errorf("%d are pending, %d told", pending, len(r.told))
	}
}

// TestQueue: notices about one problem are in order, and those about others do not wait for them.
func TestQueue(t *testing.T) {
	var q queue
	for _, n := range []Notice{{ID: "a1", Problem: "a"}, {ID: "b1", Problem: "b"}, {ID: "a2", Problem: "a"}} {
		q.add(n)
	}
	if e, _ := q.next(at(0)); e != nil {
		t.Error("a notice goes out before it is stored")
	}
	q.stored = len(q.all)
	a1, _ := q.next(at(0))
	b1, _ := q.next(at(0))
	if e, due := q.next(at(0)); a1.ID != "a1" || b1.ID != "b1" || e != nil || !due.IsZero() {
		t.Errorf("got %s, %s, %+v", a1.ID, b1.ID, e)
	}
	a1.busy, a1.due = false, at(30)
	q.remove(b1)
	if e, due := q.next(at(29)); e != nil || !due.Equal(at(30)) {
		t.Errorf("got %+v, %s", e, due)
	}
	if e, _ := q.next(at(30)); e != a1 || e.tries != 2 {
		t.Errorf("got %+v", e)
	}
	q.remove(a1)
	if e, _ := q.next(at(30)); e == nil || e.ID != "a2" || q.stored != 1 {
		t.Errorf("got %+v", e)
	}
}

// TestPlain bounds texts from a cluster, and removes what a receiver could interpret.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\x1b[31mc":          "a b [31mc",
		"user\u202egnp.exe":      "user�gnp.exe",
		"bad\xffbyte":            "bad�byte",
		strings.Repeat("ä", 600): strings.Repeat("ä", 510) + "…",
	} {
		if got := plain(in); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

// TestPlainNames: the name of an object is a text from a cluster, too.
func TestPlainNames(t *testing.T) {
	of := ref("web\x1b[31m\u202e")
	n := Notice{Object: &of, Cause: &problem.Cause{Verb: "create", Object: &of}}
	for _, got := range []string{n.subject(), n.what(), n.why()} {
		if strings.ContainsAny(got, "\x1b\u202e") || !strings.Contains(got, "web") {
			t.Errorf("got %q", got)
		}
	}
}

// TestCounts bounds the labels of the metrics.
func TestCounts(t *testing.T) {
	var c Counts
	tracker := problem.NewTracker("c")
	lacks := func(namespace, name, key string) {
		of := object.Ref{Kind: object.Kind{Kind: "Deployment"}, Namespace: namespace, Name: name}
		of.UID = types.UID(namespace + "/" + name)
		tracker.Lacks(&problem.Failing{
			Object: of, Category: "crash_loop", Key: problem.Grouping{Of: key},
		}, at(0))
	}
	for n := range maxPairs + 10 {
		ns := fmt.Sprintf("ns-%04d", n)
		lacks(ns, "a", "one cause of all")
		lacks(ns, "b", "one cause of all")
	}
	lacks("ns-0007", "c", "another cause")
	c.Look(tracker.Snapshot(at(0)), []*span.Trace{
		ended(deployment(3, "job_failed", 0), span.Failed), ended(deployment(4, "", 0), span.Converged),
	})
	got := map[string]int64{}
	c.Each(
		func(l Labels, n int64) { got["now "+l.Namespace] += n },
		func(l Labels, n int64) { got["failed "+l.Kind+" "+l.Category+" "+l.Namespace] += n },
	)
	if got["now "+Other] != 10 || got["now ns-0007"] != 2 || got["now ns-0001"] != 1 ||
		got["failed Deployment job_failed shop"] != 1 {
		t.Errorf("%d counts, %d of other namespaces: %v", len(got), got["now "+Other], got)
	}
	tracker = problem.NewTracker("c")
	lacks("new", "a", "a later cause")
	c.Look(tracker.Snapshot(at(1)), nil)
	c.Each(func(l Labels, n int64) {
		if l.Namespace != "new" || n != 1 {
			t.Errorf("earlier problems take the labels of a later one: %+v %d", l, n)
		}
	}, func(Labels, int64) {})
	c.Look(problem.NewTracker("c").Snapshot(at(1)), nil)
	c.Each(func(l Labels, n int64) { t.Errorf("%+v is still %d", l, n) }, func(Labels, int64) {})
}
