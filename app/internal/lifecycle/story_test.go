// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// epoch is the start of every story.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// story is a cluster's history, written by hand. Every write gets the next resourceVersion, 100 ms
// after the one before.
type story struct {
	rv      uint64
	objects map[string]*observation.State
	seen    []*observation.Observation
}

func newStory() *story { return &story{rv: 100, objects: map[string]*observation.State{}} }

func (s *story) now() time.Time { return written(s.rv) }

// written returns the time of the write of a resourceVersion.
func written(rv uint64) time.Time { return epoch.Add(time.Duration(rv-100) * 100 * time.Millisecond) }

func (s *story) emit(o observation.Observation) {
	o.Seen = s.now()
	if o.Source == "" {
		o.Source = observation.SourceWatch
	}
	s.seen = append(s.seen, &o)
}

// write stores a new version of the named object, changed by the edits.
func (s *story) write(name string, edits ...func(*observation.State)) *observation.State {
	s.rv++
	var st observation.State
	if old := s.objects[name]; old != nil {
		st = *old
		if old.Pod != nil {
			pod := *old.Pod
			st.Pod = &pod
		}
		if old.Workload != nil {
			w := *old.Workload
			st.Workload = &w
		}
	} else {
		st = observation.State{Created: s.now().Truncate(time.Second), Generation: 1, Desired: 1, Reconciled: true}
		st.Name, st.UID, st.Namespace = name, types.UID("uid-"+name), "default"
	}
	st.ResourceVersion = s.rv
	for _, edit := range edits {
		edit(&st)
	}
	s.objects[name] = &st
	s.emit(observation.Observation{State: &st})
	return &st
}

// baseline marks the last write as the state at the start of the observer.
func (s *story) baseline() {
	last := s.seen[len(s.seen)-1]
	last.Baseline, last.Listed = true, true
}

// before turns the story so far into the state at the start of the observer: the newest version of
// each object.
func (s *story) before() {
	newest := map[types.UID]*observation.Observation{}
	for _, o := range s.seen {
		newest[o.State.UID] = o
	}
	s.seen = slices.DeleteFunc(s.seen, func(o *observation.Observation) bool { return newest[o.State.UID] != o })
	for _, o := range s.seen {
		o.Baseline, o.Listed = true, true
	}
}

func (s *story) gone(name string) {
	s.rv++
	s.emit(observation.Observation{Gone: &observation.Gone{Ref: s.objects[name].Ref, ResourceVersion: s.rv}})
}

// requested adds the request of the last write, by a run's command.
func (s *story) requested(run, verb string, code int) {
	last := s.seen[len(s.seen)-1]
	var (
		ref object.Ref
		rv  uint64
	)
	if last.State != nil {
		ref, rv = last.State.Ref, s.rv
	} else {
		ref = last.Gone.Ref
	}
	s.emit(observation.Observation{Source: observation.SourceRequest, Write: &observation.Write{
		Ref: ref, Verb: verb, Code: code, ResourceVersion: rv,
		Start: s.now().Add(-20 * time.Millisecond), End: s.now().Add(-time.Millisecond),
		UserAgent: "kubectl/v1.36.3", TraceParent: fmt.Sprintf("00-%s-%016x-01", run, s.rv),
	}})
}

func (s *story) run(id, command string) {
	s.emit(observation.Observation{Source: observation.SourceRun, Run: &observation.Run{
		TraceParent: "00-" + id + "-00000000000000ff-01", Command: command, Start: s.now(),
	}})
}

func (s *story) ran(id, command string) {
	start := s.seen[0].Seen
	s.emit(observation.Observation{Source: observation.SourceRun, Run: &observation.Run{
		TraceParent: "00-" + id + "-00000000000000ff-01", Command: command, Start: start, End: s.now(),
	}})
}

func ofKind(group, k string) func(*observation.State) {
	return func(s *observation.State) { s.Group, s.Version, s.Kind.Kind = group, "v1", k }
}

func deployment(replicas int32) func(*observation.State) {
	return func(s *observation.State) {
		ofKind("apps", "Deployment")(s)
		s.Workload = &observation.Workload{Replicas: replicas}
		s.Managers = []observation.Manager{{Name: "kubectl-create", Operation: "Update", Fields: 1}}
	}
}

func replicaSet(owner string, replicas int32) func(*observation.State) {
	return func(s *observation.State) {
		ofKind("apps", "ReplicaSet")(s)
		s.Workload = &observation.Workload{Replicas: replicas}
		s.Owners = []object.Owner{
			{
				Kind:       object.Kind{Group: "apps", Version: "v1", Kind: "Deployment"},
				Name:       owner,
				UID:        types.UID("uid-" + owner),
				Controller: true,
			},
		}
		s.Managers = []observation.Manager{{Name: change.Manager, Operation: "Update", Fields: 1}}
	}
}

func pod(owner string) func(*observation.State) {
	return func(s *observation.State) {
		ofKind("", "Pod")(s)
		s.ObservedGeneration = -1
		s.Pod = &observation.Pod{Containers: []observation.Container{
			{Name: "app", Image: "registry/app:1", ReadinessProbe: true},
		}}
		if owner != "" {
			s.Owners = []object.Owner{
				{
					Kind:       object.Kind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
					Name:       owner,
					UID:        types.UID("uid-" + owner),
					Controller: true,
				},
			}
		}
		s.Managers = []observation.Manager{{Name: change.Manager, Operation: "Update", Fields: 1}}
	}
}

func arrived(s *observation.State) {
	s.ObservedGeneration = s.Generation
	s.Progress = observation.ProgressCurrent
	if w := s.Workload; w != nil {
		w.Total, w.Updated, w.Ready, w.Available = w.Replicas, w.Replicas, w.Replicas, w.Replicas
	}
}

func bind(s *observation.State) { s.Pod.Node = "node-1" }

func ready(s *observation.State) {
	s.Pod.Phase = "Running"
	s.Conditions = []observation.Condition{{Type: "Ready", Status: "True"}}
}

func scaled(n int32) func(*observation.State) {
	return func(s *observation.State) {
		s.Generation++
		s.Desired++
		s.Workload.Replicas = n
	}
}

func deleting(s *observation.State) {
	s.Generation++
	s.GraceSeconds = 30
	s.Deleting = written(s.ResourceVersion).Truncate(time.Second).Add(30 * time.Second)
}

// rollout adds the rollout of Deployment web with one Pod.
func (s *story) rollout() {
	s.write("web", deployment(1))
	s.write("web-1", replicaSet("web", 1))
	s.write("web-1-a", pod("web-1"))
	s.write("web-1-a", bind)
	s.write("web-1-a", ready)
	s.write("web-1", arrived)
	s.write("web", arrived)
}

// desiredReplicas is the path of a ReplicaSet's copy of the number of its Deployment.
const desiredReplicas = "metadata.annotations[deployment.kubernetes.io/desired-replicas]"

// hashed names the template of a ReplicaSet.
func hashed(template uint64) func(*observation.State) {
	return valued("metadata.labels[pod-template-hash]", template)
}

// sized sets the number of replicas.
func sized(n int32) func(*observation.State) {
	return func(st *observation.State) {
		valued(replicas, uint64(n)+1)(st)
		st.Workload.Replicas = n
	}
}

// fresh is the generation of a new object.
func fresh(st *observation.State) { st.Generation = 1 }

// settled adds Deployment web with its first template and n Pods, as the state at the start of the observer.
func (s *story) settled(n int32) {
	s.write("web", deployment(n), valued(newImage, 1), sized(n), fresh)
	s.revised(1, n, n)
	s.started("web-1", "abc"[:n])
	s.write("web", arrived)
	s.wait(time.Minute)
	s.before()
}

// revised adds the ReplicaSet and n Pods of a template. Its Deployment wants that many in all.
func (s *story) revised(template uint64, n, all int32) {
	name := fmt.Sprint("web-", template)
	s.write(name, replicaSet("web", n), hashed(template), sized(n), valued(desiredReplicas, uint64(all)), fresh)
	for i := range n {
		s.write(fmt.Sprintf("%s-%c", name, 'a'+i), pod(name))
	}
}

// started lets Pods and then their ReplicaSet arrive. A letter names a Pod.
func (s *story) started(set, pods string) {
	for _, p := range pods {
		s.write(fmt.Sprintf("%s-%c", set, p), bind)
		s.write(fmt.Sprintf("%s-%c", set, p), ready)
	}
	s.write(set, arrived)
}

// removed scales a ReplicaSet down to n replicas, with other edits. A letter names a removed Pod.
func (s *story) removed(set string, n int32, pods string, edits ...func(*observation.State)) {
	s.write(set, append(edits, sized(n))...)
	for _, p := range pods {
		s.write(fmt.Sprintf("%s-%c", set, p), deleting)
		s.gone(fmt.Sprintf("%s-%c", set, p))
	}
	s.write(set, arrived)
}

// outline draws the traces for comparison: a line per span, indented, links
// and outcomes named.
func (s *story) outline(t *testing.T) string {
	t.Helper()
	end := s.now().Add(time.Minute)
	return outline(observe(s.seen).Traces(end))
}

func observe(seen []*observation.Observation) *Engine {
	e := New(Options{Cluster: "test"})
	for _, o := range seen {
		e.Observe(o)
	}
	return e
}

func outline(traces []*span.Trace) string {
	var b strings.Builder
	for i, tr := range traces {
		fmt.Fprintf(&b, "trace %d %s", i, tr.Outcome)
		if tr.Reason != "" {
			fmt.Fprintf(&b, ": %s", tr.Reason)
		}
		b.WriteString("\n")
		depth := map[string]int{}
		for _, sp := range tr.Spans {
			n := 1
			if d, ok := depth[sp.Parent.String()]; ok {
				n = d + 1
			}
			depth[sp.ID.String()] = n
			fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", n), sp.Name)
			if sp.Object.Name != "" {
				fmt.Fprintf(&b, " %s", sp.Object.Name)
			}
			if sp.Outcome != "" {
				fmt.Fprintf(&b, " %s", sp.Outcome)
			}
			if sp.Evidence != "" {
				fmt.Fprintf(&b, " (%s)", sp.Evidence)
			}
			for _, l := range sp.Links {
				fmt.Fprintf(&b, " ~%s", l.Reason)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

var steps = regexp.MustCompile(`(?m)^ +(schedule|sandbox|terminate) .*\n`)

// plain is the outline without the steps of Pods.
func plain(traces []*span.Trace) string { return steps.ReplaceAllString(outline(traces), "") }

// linksOf returns a line per link: the object, the reason and the other object. A number names the trace.
func linksOf(traces []*span.Trace) []string {
	names := map[string]string{}
	for i, tr := range traces {
		for _, sp := range tr.Spans {
			names[fmt.Sprint(sp.TraceID, sp.ID)] = fmt.Sprintf("%s %s of %d", sp.Object.Kind.Kind, sp.Object.Name, i)
		}
	}
	var out []string
	for _, tr := range traces {
		for _, sp := range tr.Spans {
			for _, l := range sp.Links {
				out = append(out, fmt.Sprintf("%s: %s %s", names[fmt.Sprint(sp.TraceID, sp.ID)],
					l.Reason, names[fmt.Sprint(l.TraceID, l.SpanID)]))
			}
		}
	}
	return out
}

// authorsOf returns a line per trace: the object at its root, the component and the user.
func authorsOf(traces []*span.Trace) []string {
	var out []string
	for _, tr := range traces {
		root := tr.Root()
		out = append(out, fmt.Sprintf("%s %s: %s %s", root.Object.Kind.Kind, root.Object.Name,
			attributeText(root, span.KeyActor), attributeText(root, span.KeyActorUser)))
	}
	return out
}

// inAnyOrder fails the test if permuted and repeated observations give another result. It also fails if a write
// is not told exactly once, with restarts, or if a look differs from a derivation from nothing.
func inAnyOrder[T any](t *testing.T, s *story, result func([]*span.Trace) T) {
	t.Helper()
	tellsOnce(t, s.seen, 0)
	tellsOnce(t, s.seen, 5*time.Second)
	looksAlike(t, s.seen)
	end := s.now().Add(time.Minute)
	want := result(observe(s.seen).Traces(end))
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		if diff := cmp.Diff(want, result(observe(permuted(s.seen, seed)).Traces(end))); diff != "" {
			t.Fatalf("permutation %d gives another result (-first +permuted):\n%s", seed, diff)
		}
	}
}

// permuted gives the observations in other orders, some of them twice.
func permuted(seen []*observation.Observation, seed uint64) []*observation.Observation {
	r := rand.New(rand.NewPCG(seed, 1))
	out := append([]*observation.Observation(nil), seen...)
	for range len(seen) / 3 {
		out = append(out, seen[r.IntN(len(seen))])
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
