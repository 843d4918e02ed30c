// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// aftermathOptions collect aftermaths as a server does.
var aftermathOptions = Options{Cluster: "test", Aftermath: 30 * time.Minute}

// afterwards plays the story with a look every 5 seconds, and until an hour after its end. It returns each span with an
// aftermath: its time, the root of its trace, its number, the Pod and the facts. The engine is saved and restored each
// minute if saved is true.
func (s *story) afterwards(t *testing.T, saved bool) []string {
	t.Helper()
	e, at := New(aftermathOptions), epoch
	roots := map[trace.TraceID]string{}
	var out []string
	look := func(until time.Time) {
		for ; at.Before(until); at = at.Add(5 * time.Second) {
			for _, tr := range e.Take(at) {
				roots[tr.ID] = tr.Root().Object.Name + " " + string(tr.Outcome)
			}
			for _, tr := range e.Amendments() {
				for _, sp := range tr.Spans {
					if sp.IsAftermath() {
						out = append(out, afterwards(at, roots[tr.ID], sp))
					}
				}
			}
			if saved && at.Sub(epoch)%time.Minute == 0 {
				e = restored(t, e)
			}
		}
	}
	for _, o := range s.seen {
		look(o.Seen)
		e.Observe(o)
	}
	look(s.now().Add(time.Hour))
	for _, o := range e.index.Objects() {
		if o.Aftermath != 0 || len(e.after.changes)+len(e.after.worse) > 0 {
			t.Errorf("after an hour, %s is kept, and %d changes", o.Ref.Name, len(e.after.changes))
		}
	}
	return out
}

func afterwards(at time.Time, root string, sp *span.Span) string {
	number, over := int64(0), ""
	for _, kv := range sp.Attributes {
		switch {
		case kv.Key == span.KeyAftermath:
			number = kv.Value.AsInt64()
		case kv.Key == span.KeyAftermathOver && kv.Value.AsBool():
			over = " over"
		}
	}
	return fmt.Sprintf("%s %s %d%s %s: %s", since(at), root, number, over, sp.Object.Name, sp.Message)
}

// exited ends the container of a Pod, which waits for its restart number n.
func exited(n, code int32, why string) func(*observation.State) {
	return func(st *observation.State) {
		at := written(st.ResourceVersion).Truncate(time.Second)
		st.Conditions = []observation.Condition{{Type: "Ready", Status: "False"}}
		st.Pod.Containers = []observation.Container{{
			Name: "app", Image: "registry/app:1", Restarts: n - 1,
			State: &observation.ContainerState{
				Reason: why, ExitCode: code, Started: at.Add(-time.Second), Finished: at,
			},
		}}
	}
}

// restarted lets the container of a Pod run again, for the n-th time.
func restarted(n int32) func(*observation.State) {
	return func(st *observation.State) {
		ready(st)
		c := st.Pod.Containers[0]
		c.Restarts, c.Last = n, c.State
		c.State = &observation.ContainerState{Started: written(st.ResourceVersion).Truncate(time.Second)}
		st.Pod.Containers = []observation.Container{c}
	}
}

// crashes lets the container of a Pod end and restart some times, after a minute each.
func (s *story) crashes(pod string, from, times, code int32, why string) {
	for n := from; n < from+times; n++ {
		s.wait(time.Minute)
		s.write(pod, exited(n, code, why))
		s.wait(10 * time.Second)
		s.write(pod, restarted(n))
	}
}

// unhealthy adds an Event about the failed probe of a Pod.
func (s *story) unhealthy(uid, pod string, count int32) {
	s.rv++
	s.emit(observation.Observation{Event: &observation.Event{
		UID: uid, ResourceVersion: s.rv, Regarding: s.objects[pod].Ref, Type: "Warning", Reason: unhealthy,
		Note: "Readiness probe failed", Count: count, First: s.now().Truncate(time.Second),
		Last: s.now().Truncate(time.Second),
	}})
}

// TestAftermath: a converged change tells what happens to its Pods in the next half hour, beside the day before.
func TestAftermath(t *testing.T) {
	next := func(s *story, template uint64) {
		s.write("web", valued(newImage, template), by("user-a"))
		s.revised(template, 1, 1)
		s.started(fmt.Sprint("web-", template), "a")
		s.removed(fmt.Sprint("web-", template-1), 0, "a")
		s.write("web", arrived)
	}
	for name, tc := range map[string]struct {
		tell func(s *story)
		want []string
	}{
		"Nothing happens": {
			func(s *story) {
				s.rollout()
				s.wait(time.Hour)
			},
			nil,
		},
		"Three crashes after a rollout": {
			func(s *story) {
				s.settled(1)
				s.wait(24 * time.Hour)
				next(s, 2)
				s.crashes("web-2-a", 1, 3, 137, "OOMKilled")
			},
			[]string{
				"24h2m0s web converged 1 web-2-a: 1 exit of a container in 60 s (0 in the day before): " +
					"container app exited with 137 (OOMKilled)",
				"24h3m0s web converged 2 web-2-a: 1 restart in 70 s (0 in the day before): " +
					"container app exited with 137 (OOMKilled)",
				"24h4m0s web converged 3 web-2-a: 2 restarts in 2 min (0 in the day before): " +
					"container app exited with 137 (OOMKilled)",
				"24h5m0s web converged 4 web-2-a: 3 restarts in 4 min (0 in the day before): " +
					"container app exited with 137 (OOMKilled)",
				"24h32m0s web converged 5 over web-2-a: 3 restarts in 4 min (0 in the day before): " +
					"container app exited with 137 (OOMKilled)",
			},
		},
		"The old Pods crashed, too, and the next change ends the collection": {
			func(s *story) {
				s.settled(1)
				s.wait(time.Hour)
				s.crashes("web-1-a", 1, 5, 1, "Error")
				s.wait(time.Hour)
				next(s, 2)
				s.crashes("web-2-a", 1, 2, 1, "Error")
				next(s, 3)
				s.wait(time.Hour)
			},
			[]string{
				"2h8m0s web converged 1 web-2-a: 1 exit of a container in 60 s (5 in the 2 h before): " +
					"container app exited with 1",
				"2h9m0s web converged 2 web-2-a: 1 restart in 70 s (5 in the 2 h before): container app exited with 1",
				"2h9m0s web converged 3 over web-2-a: 2 restarts in 2 min (5 in the 2 h before): " +
					"container app exited with 1",
			},
		},
		"A Pod without restarts": {
			func(s *story) {
				s.rollout()
				s.wait(5 * time.Minute)
				s.unhealthy("e1", "web-1-a", 1)
				s.wait(10 * time.Second)
				s.unhealthy("e1", "web-1-a", 3)
				s.write("web-1-a", probing)
				s.wait(time.Minute)
				s.write("web-1-a", ready)
				s.unhealthy("e1", "web-1-a", 3)
			},
			[]string{
				"5m0s web converged 1 web-1-a: 1 failed probe in 5 min",
				"6m0s web converged 2 web-1-a: 3 failed probes, 1 loss of readiness in 5 min",
				"31m0s web converged 3 over web-1-a: 3 failed probes, 1 loss of readiness in 5 min",
			},
		},
		"A Pod is evicted, and its replacement is another change": {
			func(s *story) {
				s.settled(1)
				s.wait(30 * time.Minute)
				next(s, 2)
				s.wait(3 * time.Minute)
				s.write("web-2-a", func(st *observation.State) {
					st.Pod.Phase, st.Pod.Reason = "Failed", "Evicted"
					st.Conditions = []observation.Condition{{Type: "Ready", Status: "False"}}
				})
				s.write("web-2-b", pod("web-2"))
				s.started("web-2", "b")
				s.crashes("web-2-b", 1, 1, 1, "Error")
			},
			[]string{
				"34m0s web converged 1 web-2-a: 1 eviction in 3 min (0 in the 31 min before)",
				"35m0s web-2-b converged 1 web-2-b: 1 exit of a container in 60 s (0 in the 34 min before): " +
					"container app exited with 1",
				"36m0s web-2-b converged 2 web-2-b: 1 restart in 70 s (0 in the 34 min before): " +
					"container app exited with 1",
				"1h2m0s web converged 2 over web-2-a: 1 eviction in 3 min (0 in the 31 min before)",
				"1h5m0s web-2-b converged 3 over web-2-b: 1 restart in 70 s (0 in the 34 min before): " +
					"container app exited with 1",
			},
		},
		"Crashes after half an hour": {
			func(s *story) {
				s.rollout()
				s.wait(31 * time.Minute)
				s.crashes("web-1-a", 1, 3, 1, "Error")
			},
			nil,
		},
		"An observer was away": {
			func(s *story) {
				s.rollout()
				s.wait(5 * time.Minute)
				s.crashes("web-1-a", 1, 1, 1, "Error")
				s.seen = s.seen[:len(s.seen)-2]
				s.wait(5 * time.Minute)
				s.write("web-1-a", exited(7, 1, "Error"))
				s.seen[len(s.seen)-1].Listed = true
			},
			[]string{
				"11m0s web converged 1 web-1-a: 6 restarts in 11 min: container app exited with 1",
				"31m0s web converged 2 over web-1-a: 6 restarts in 11 min: container app exited with 1",
			},
		},
		"A change that recovered": {
			func(s *story) {
				s.settled(1)
				s.write("web", valued(newImage, 2), by("user-a"))
				s.revised(2, 1, 1)
				s.write("web-2-a", bind, unpulled)
				s.wait(10 * time.Minute)
				s.write("web", func(st *observation.State) {
					st.ObservedGeneration, st.Progress = st.Generation, observation.ProgressFailed
					st.Workload.Total, st.Workload.Updated = 2, 1
					st.Conditions = []observation.Condition{
						{Type: "Progressing", Status: "False", Reason: "ProgressDeadlineExceeded"},
					}
				})
				s.wait(10 * time.Minute)
				s.write("web-2-a", ready)
				s.write("web-2", arrived)
				s.removed("web-1", 0, "a")
				s.write("web", arrived, func(st *observation.State) { st.Conditions = nil })
				s.crashes("web-2-a", 1, 2, 1, "Error")
			},
			[]string{
				"22m0s web failed 1 web-2-a: 1 exit of a container in 60 s (0 in the 60 s before): " +
					"container app exited with 1",
				"23m0s web failed 2 web-2-a: 1 restart in 70 s (0 in the 60 s before): container app exited with 1",
				"24m0s web failed 3 web-2-a: 2 restarts in 2 min (0 in the 60 s before): container app exited with 1",
				"52m0s web failed 4 over web-2-a: 2 restarts in 2 min (0 in the 60 s before): " +
					"container app exited with 1",
			},
		},
		"A command made two Pods": {
			func(s *story) {
				const run = "00000000000000000000000000000007"
				s.run(run, "kubectl apply")
				for _, name := range []string{"db", "web"} {
					s.write(name, pod(""))
					s.requested(run, "POST", 201)
				}
				s.ran(run, "kubectl apply")
				for _, name := range []string{"db", "web"} {
					s.write(name, bind)
					s.write(name, ready)
				}
				s.crashes("db", 1, 1, 3, "Error")
				s.crashes("web", 1, 1, 137, "OOMKilled")
			},
			[]string{
				"1m0s  converged 1 db: 1 exit of a container in 60 s: container app exited with 3",
				"2m0s  converged 2 db: 1 restart in 69 s: container app exited with 3",
				"3m0s  converged 3 web: 2 restarts in 2 min: container app exited with 3, " +
					"container app exited with 137 (OOMKilled)",
				"31m0s  converged 4 over web: 2 restarts in 2 min: container app exited with 3, " +
					"container app exited with 137 (OOMKilled)",
			},
		},
		"The Pod is deleted": {
			func(s *story) {
				s.rollout()
				s.wait(5 * time.Minute)
				s.write("web-1-a", deleting)
				s.write("web-1-a", exited(1, 143, "Error"))
				s.gone("web-1-a")
			},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory()
			tc.tell(s)
			got := s.afterwards(t, false)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if again := s.afterwards(t, true); !slices.Equal(got, again) {
				t.Errorf("with restarts (-left alone +restored):\n%s", cmp.Diff(got, again))
			}
		})
	}
}

// probing is a running Pod whose probe fails.
func probing(st *observation.State) {
	st.Conditions = []observation.Condition{{Type: "Ready", Status: "False"}}
}
