// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestReuse: the spans of a Pod without a change are those of the look before, those of the other
// Pods are not. TestGroups compares all of them with a derivation from nothing.
func TestReuse(t *testing.T) {
	c := newCrowd(1, 4)
	before := spansByPod(c.engine.Traces(c.now))
	c.step(4, 0)
	after := spansByPod(c.engine.Traces(c.now.Add(time.Millisecond)))
	changed := c.pods[0].Name
	for name, spans := range before {
		if same := spans == after[name]; same == (name == changed) {
			t.Errorf("Pod %s: the same span in both looks: %t", name, same)
		}
	}
	if len(before) != 4 {
		t.Errorf("%d Pods, want 4", len(before))
	}
}

// spansByPod returns the span of each Pod's start.
func spansByPod(traces []*span.Trace) map[string]*span.Span {
	out := map[string]*span.Span{}
	for _, t := range traces {
		for _, s := range t.Spans {
			if s.Name == span.ReconcileName("Pod") {
				out[s.Object.Name] = s
			}
		}
	}
	return out
}

// TestAuditOfNote: an audit event of another object shows the user of a note of a Pod's start. The note was
// without it at the look before.
func TestAuditOfNote(t *testing.T) {
	events := 0
	for name, seen := range recordings(t) {
		e := New(Options{Cluster: "test"})
		now, made := seen[0].Seen, map[uint64]bool{}
		for _, o := range seen {
			if o.Write != nil && o.Source == observation.SourceAudit {
				continue
			}
			e.Observe(o)
			now = history.Later(now, o.Seen)
			e.Take(now)
			e.Traces(now)
			w := noteOfOther(e, made)
			if w == nil || len(made) == 4 {
				continue
			}
			made[w.RV] = true
			events++
			e.Observe(&observation.Observation{Seen: now, Source: observation.SourceAudit, Write: &observation.Write{
				Ref: w.Timeline.Ref, Verb: "update", Subresource: "status", ResourceVersion: w.RV,
				AuditID: fmt.Sprint(w.RV), User: "system:serviceaccount:kube-system:job-controller", Code: 200,
				Start: w.Version.Seen.Add(-20 * time.Millisecond), End: w.Version.Seen.Add(-10 * time.Millisecond),
			}})
			if ids := e.Differences(now); len(ids) > 0 {
				t.Errorf("%s: with the audit event of %s: these differ: %v", name, w.Timeline.Ref, ids)
			}
		}
	}
	if events < 10 {
		t.Errorf("%d audit events, want at least 10", events)
	}
}

// noteOfOther returns a note of a Pod's start that is a write to another object, or nil.
func noteOfOther(e *Engine, but map[uint64]bool) *change.Write {
	for g := range e.groups.all {
		if g.derived == nil {
			continue
		}
		for t := range g.members {
			recs := g.derived.placed.Of(t)
			if !kind.Pod.Is(t.Ref.Kind) {
				continue
			}
			for _, r := range recs {
				for _, w := range r.Notes {
					if w.Timeline != t && w.Version != nil && w.Timeline.Audits == nil && !but[w.RV] {
						return w
					}
				}
			}
		}
	}
	return nil
}
