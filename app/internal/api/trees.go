// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/outline"
)

// maxTreeSpans bounds the spans of the remembered trees. A larger trace is arranged at each request.
const maxTreeSpans = 300_000

// arranged is the tree of one version of a trace.
type arranged struct {
	*outline.Tree
	id      trace.TraceID
	summary *Summary
	path    []insight.Segment
	asOf    time.Time
	spans   int
}

// trees remembers the trees that clients look at. The zero value is ready.
type trees struct {
	mu sync.Mutex
	// used has the trees, the last used one last.
	used []*arranged
}

// get returns the remembered tree of a trace, or nil.
func (t *trees) get(id trace.TraceID) *arranged {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.used, func(a *arranged) bool { return a.id == id })
	if i < 0 {
		return nil
	}
	found := t.used[i]
	t.used = append(slices.Delete(t.used, i, i+1), found)
	return found
}

// put remembers a tree in place of the one of the same trace.
func (t *trees) put(a *arranged) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.used = append(slices.DeleteFunc(t.used, func(old *arranged) bool { return old.id == a.id }), a)
	spans := 0
	for i, old := range slices.Backward(t.used) {
		if spans += old.spans; spans > maxTreeSpans {
			t.used = slices.Delete(t.used, 0, i+1)
			break
		}
	}
}

// arrange makes the tree of the present version of a trace, and remembers it.
func (s *Server) arrange(r *http.Request, id trace.TraceID) (*arranged, error) {
	rec, err := s.opts.Store.Trace(r.Context(), s.opts.Scope(r), id)
	if err != nil {
		return nil, err
	}
	now := rec.AsOf
	if rec.Open {
		now = s.opts.Clock()
	}
	summary := SummaryOf(&rec.Summary)
	out := &arranged{
		Tree: outline.New(rec.Trace, now), id: rec.ID, summary: &summary,
		path: insight.CriticalPath(rec.Trace, now), asOf: now, spans: len(rec.Trace.Spans),
	}
	s.trees.put(out)
	return out, nil
}
