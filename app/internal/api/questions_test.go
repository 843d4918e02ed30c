// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// archive counts the questions of a view, and the turns that are taken meanwhile.
type archive struct {
	store.Reader
	lists, writes, taken int
	turns                func() int
}

func (a *archive) List(ctx context.Context, q store.Query) (*store.Page, error) {
	a.lists++
	a.taken += a.turns()
	return a.Reader.List(ctx, q)
}

func (a *archive) Writes(ctx context.Context, q store.WriteQuery) (*store.WritePage, error) {
	a.writes++
	a.taken += a.turns()
	return a.Reader.Writes(ctx, q)
}

// TestWhyReads: the search for changes of nodes takes no turn, and reads the trace of the latest one only.
func TestWhyReads(t *testing.T) {
	v, rejected := viewtest.New(t), spantest.Rejected()
	v.Put(t, asOf, viewtest.Traces{
		Finished: []*span.Trace{
			spantest.Cordon("node-7", 100), spantest.Cordon("node-8", 300), spantest.Cordon("node-9", 200),
		},
		Open: []*span.Trace{rejected},
	})
	counted := &archive{Reader: v}
	s := start(t, Options{Access: all(counted)})
	counted.turns = func() int { return len(s.traces.turns) }
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	req.SetPathValue("traceID", rejected.ID.String())
	asked, err := s.request(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.traces.why(asked)
	if err != nil {
		t.Fatal(err)
	}
	if nodes := got.(Why).Nodes; len(nodes) != 1 || nodes[0].Node != "node-8" {
		t.Errorf("got nodes %+v, want the latest cordon", nodes)
	}
	if counted.writes != 3 || counted.lists != 1 || counted.taken != 0 {
		t.Errorf("%d lists of writes, want 3; %d of traces, want 1; %d in a turn, want 0",
			counted.writes, counted.lists, counted.taken)
	}
}
