// SPDX-License-Identifier: Apache-2.0

package placed

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// folded returns a Deployment whose last reconciliation was handed out with the lineage n and forgotten.
func (w *world) folded(name string, n byte) *change.Timeline {
	t := w.put(name, 99, 20)
	t.Baseline()
	t.Past = &change.Past{
		TraceID: trace.TraceID{n}, SpanID: trace.SpanID{n}, RV: 10, Verb: history.Created, Activity: at(15),
	}
	return t
}

// TestRemembered: a stand-in of a forgotten reconciliation comes first.
func TestRemembered(t *testing.T) {
	w := newWorld()
	web := w.folded("web", 1)
	r := w.Of(web)[0]
	if again := w.Of(web)[0]; again != r {
		t.Error("a second call made another stand-in")
	}
	w.put("web", 99, 22)
	w.change(web, 2, 22)
	if diff := cmp.Diff([]int{-10, 22}, places(w.Of(web))); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if r.Lineage != w.Lines[trace.TraceID{1}] || !r.Lineage.Old || len(r.Lineage.Reconciliations) > 0 {
		t.Errorf("got the lineage %+v, want an old one without reconciliations", r.Lineage)
	}
	if !r.Done || r.ID() != (trace.SpanID{1}) || r.Verb != history.Created || !r.Activity.Equal(at(15)) {
		t.Errorf("got %+v, want the verb, the span and the activity of the forgotten one", r)
	}
}

// TestRememberedTrace: stand-ins of one trace share its lineage, also a live one.
func TestRememberedTrace(t *testing.T) {
	w := newWorld()
	web, db, other := w.folded("web", 1), w.folded("db", 1), w.folded("other", 2)
	live := w.line(2)
	if a, b := w.Of(web)[0].Lineage, w.Of(db)[0].Lineage; a != b {
		t.Error("one trace has two lineages")
	}
	if got := w.Of(other)[0].Lineage; got != live || got.Old {
		t.Errorf("got %+v, want the lineage of the later writes", got)
	}
}

// recalled returns a Deployment with forgotten instant changes of the lineage 1.
func (w *world) recalled(name string) *change.Timeline {
	t := w.put(name, 99, 20)
	t.Remember(change.Instant{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, RV: 5, At: at(5),
		Paths: []string{"a"}})
	t.Remember(change.Instant{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, RV: 7, At: at(7), Paths: []string{"b"},
		User: "jane", Manager: "kubectl", Revision: "main@1",
	})
	return t
}

// TestRecalled: stand-ins of forgotten instant changes come first.
func TestRecalled(t *testing.T) {
	w := newWorld()
	web := w.recalled("web")
	if first := w.Instants("web"); first[0] != w.Instants("web")[0] {
		t.Error("a second call made other stand-ins")
	}
	if got := w.Instant("web"); got != nil {
		t.Errorf("got %v, want no instant change of this derivation", got)
	}
	label := w.change(web, 2, 20, instant)
	if diff := cmp.Diff([]int{-5, -7, 20}, places(w.Instants("web"))); diff != "" {
		t.Fatalf("-want +got:\n%s", diff)
	}
	if got := w.Instant("web"); got != label {
		t.Errorf("got %v, want the new one", got)
	}
	if got := w.Of(web); got != nil {
		t.Errorf("got %v, want no reconciliation", places(got))
	}

	first, second := w.Instants("web")[0], w.Instants("web")[1]
	if first.First().Audit != nil || first.Lineage != second.Lineage || !first.Lineage.Old {
		t.Errorf("got %+v, want an old lineage and no user", first)
	}
	wrote := second.First()
	if !second.Done || !second.Concluded || !second.Instant || second.Published != "main@1" ||
		wrote.Manager != "kubectl" || wrote.Audit.User != "jane" || !wrote.At.At().Equal(at(7)) ||
		wrote.Changed.Paths[0] != "b" {
		t.Errorf("got %+v with the write %+v, want the data of the forgotten one", second, wrote)
	}
}
