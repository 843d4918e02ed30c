// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestPending: a wait ends with the last list, and forbidden resources are named together then.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var warned []string
		p := newPending(newWarnings(func(format string, args ...any) {
			warned = append(warned, fmt.Sprintf(format, args...))
		}))
		if err := p.wait(t.Context()); err != nil {
			t.Errorf("nothing is pending: %v", err)
		}
		started := p.together()
		p.add()
		waited := make(chan error, 1)
		go func() { waited <- p.wait(t.Context()) }()
		p.warnings.forbidden(pods.GroupResource(), "")
		p.remove()
		synctest.Wait()
		select {
		case err := <-waited:
			t.Fatalf("the wait has ended before the last list: %v", err)
		default:
		}
		if warned != nil {
			t.Errorf("warned before the last list: %q", warned)
		}
		ended, cancel := context.WithCancelCause(t.Context())
		late := errors.New("too late")
		cancel(late)
		if err := p.wait(ended); !errors.Is(err, late) {
			t.Errorf("got %v, want the cause of the end", err)
		}
		p.warnings.forbidden(nodes.GroupResource(), "")
		started()
		if err := <-waited; err != nil {
			t.Error(err)
		}
		want := []string{"not permitted to watch in the whole cluster: nodes, pods; continuing without them"}
		if diff := cmp.Diff(want, warned); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestOutputOfARemovedResource: a resource that is back keeps its position.
func TestOutputOfARemovedResource(t *testing.T) {
	p := Position{Resource: pods, Version: "7"}
	for _, back := range []bool{false, true} {
		var got []Position
		o := &output{emit: func(*observation.Observation) {}, reached: func(p Position) { got = append(got, p) }}
		o.reach(p)
		o.gone(p, func(of Position) bool { return back && of.key() == p.key() })
		want := []Position{p}
		if !back {
			want = append(want, Position{Resource: pods})
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("back %t: -want +got:\n%s", back, diff)
		}
	}
	silent := &output{}
	silent.reach(p)
	silent.gone(p, func(Position) bool { return false })
}
