// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// History is the history of a synthetic cluster: rollouts of Deployments. It is the same for the same
// values.
type History struct {
	// Seed chooses the random values.
	Seed uint64
	// Start is the start of the first trace, and Every the time between two of them.
	Start time.Time
	Every time.Duration
	// Pods is the number of Pods of each trace.
	Pods int
}

// Year is the history of a year in that many traces, of 18 Pods each. It ends at the epoch of package
// spantest.
func Year(traces int) History {
	const year = 365 * 24 * time.Hour
	return History{Seed: 1, Start: spantest.Epoch.Add(-year), Every: year / time.Duration(traces), Pods: 18}
}

// Lifecycles is the number of lifecycles of each trace.
func (h *History) Lifecycles() int { return h.Pods + 2 }

// names of the synthetic cluster.
var (
	applications = []string{"web", "shop", "search", "mail", "auth", "billing", "report", "cache"}
	historyImage = []string{"nginx:1.29", "nginx:1.27", "redis:8", "postgres:18", "node:24", "python:3.14", "java:25"}
	zones        = []string{"zone-a", "zone-b", "zone-c"}
	regions      = []string{"eu", "us"}
	pools        = []string{"general", "spot"}
)

// Trace returns the trace with that number, from 0.
func (h *History) Trace(n int) *span.Trace {
	r := rand.New(rand.NewPCG(h.Seed, uint64(n))) //nolint:gosec // a repeatable test
	w := &rollout{r: r, at: h.Start.Add(time.Duration(n) * h.Every)}
	w.id(n)
	w.version = 1000 * int64(n+1)
	w.application = applications[r.IntN(len(applications))]
	w.image = historyImage[min(r.IntN(len(historyImage)), r.IntN(len(historyImage)))]
	w.namespace = fmt.Sprintf("team-%02d", r.IntN(20))
	w.run(h.Pods)
	return w.trace
}

// rollout makes one trace.
type rollout struct {
	r                             *rand.Rand
	at                            time.Time
	trace                         *span.Trace
	application, image, namespace string
	// version is the last resourceVersion.
	version int64
}

func (w *rollout) id(n int) {
	w.trace = &span.Trace{Outcome: span.Converged}
	binary.BigEndian.PutUint64(w.trace.ID[:], w.r.Uint64())
	binary.BigEndian.PutUint64(w.trace.ID[8:], uint64(n)+1) //nolint:gosec // it is a number of traces
}

// span adds a span that starts and ends after the start of the trace.
func (w *rollout) span(up *span.Span, name, service string, of object.Ref, from, to time.Duration) *span.Span {
	s := &span.Span{
		TraceID: w.trace.ID, Name: name, Service: service, Object: of,
		Start: span.Time{Time: w.at.Add(from), Source: span.TimeWatch},
		End:   span.Time{Time: w.at.Add(to), Source: span.TimeWatch},
	}
	binary.BigEndian.PutUint64(s.ID[:], uint64(len(w.trace.Spans))+1)
	if up != nil {
		s.Parent = up.ID
	}
	w.trace.Spans = append(w.trace.Spans, s)
	return s
}

func (w *rollout) ref(group, kind, name string) object.Ref {
	return object.Ref{
		Kind:      object.Kind{Group: group, Version: "v1", Kind: kind},
		Namespace: w.namespace, Name: name, UID: types.UID(fmt.Sprintf("%016x", w.r.Uint64())),
	}
}

// facts sets the data for questions of a reconciliation.
func (w *rollout) facts(s *span.Span, outcome span.Outcome, pod *span.PodFacts) {
	s.Outcome, s.Evidence = outcome, span.ByOwner
	s.Attributes = append(s.Attributes, span.KeyActor.String(s.Service))
	s.Facts = &span.Facts{
		Verb: "create", Workload: "Deployment/" + w.application, Pod: pod,
		Labels: []object.Label{{Key: "app.kubernetes.io/name", Value: w.application}},
	}
}

// write adds a write of the object of s, as an event and in the facts, and returns the latter.
func (w *rollout) write(s *span.Span, verb, part, actor string, after time.Duration) *span.Write {
	at := w.at.Add(after)
	w.version++
	s.Events = append(s.Events, span.Event{Time: at, Name: span.EventWrite, Attributes: []attribute.KeyValue{
		span.KeyVerb.String(verb), span.KeyPart.String(part), span.KeyRV.Int64(w.version), span.KeyActor.String(actor),
	}})
	s.Facts.Writes = append(s.Facts.Writes, span.Write{
		Verb: verb, Part: part, ResourceVersion: w.version, Actor: actor, Start: at, End: at, Source: span.TimeWatch,
	})
	if verb == "update" {
		s.Facts.Writes[len(s.Facts.Writes)-1].BasedOn = w.version - 7
	}
	return &s.Facts.Writes[len(s.Facts.Writes)-1]
}

func (w *rollout) run(pods int) {
	deployment := w.span(
		nil, "reconcile Deployment", "deployment-controller", w.ref("apps", "Deployment", w.application), 0, 0,
	)
	w.facts(deployment, span.Converged, nil)
	deployment.Evidence = ""
	deployment.Attributes = append(deployment.Attributes, span.KeyReplicas.Int(pods))
	w.write(deployment, "update", "desired", "kubectl", 0).Changes = []span.FieldChange{{
		Path: "spec.template.spec.containers[name=web].image", Operation: span.FieldReplaced, To: w.image,
	}}
	name := fmt.Sprintf("%s-%08x", w.application, w.r.Uint32())
	set := w.span(deployment, "reconcile ReplicaSet",
		"replicaset-controller", w.ref("apps", "ReplicaSet", name), 20*time.Millisecond, 0)
	w.facts(set, span.Converged, nil)
	set.Attributes = append(set.Attributes, span.KeyReplicas.Int(pods))
	w.write(set, "create", "desired", "deployment-controller", 20*time.Millisecond)
	last := time.Duration(0)
	for range pods {
		last = max(last, w.pod(set, name))
	}
	set.End.Time, deployment.End.Time = w.at.Add(last), w.at.Add(last+10*time.Millisecond)
	w.write(set, "update", "observed", "replicaset-controller", last)
	w.write(deployment, "update", "observed", "deployment-controller", last+10*time.Millisecond)
}

// pod adds a Pod with its phases, and returns its end. One of 50 fails.
func (w *rollout) pod(set *span.Span, owner string) time.Duration {
	from := 50*time.Millisecond + time.Duration(w.r.Int64N(int64(time.Second)))
	pull := time.Duration(float64(2*time.Second) * math.Exp(w.r.NormFloat64()*1.5))
	ref := w.ref("", "Pod", fmt.Sprintf("%s-%05x", owner, w.r.IntN(1<<20)))
	node := w.r.IntN(200)
	s := w.span(set, "reconcile Pod", "kubelet", ref, from, 0)
	outcome := span.Converged
	if w.r.IntN(50) == 0 {
		outcome = span.Failed
	}
	s.Attributes = append(s.Attributes, span.KeyRegion.String(regions[node%len(regions)]),
		span.KeyInstanceType.String("m7i.large"), span.KeyRuntime.String("containerd"),
		span.KeyRuntimeVersion.String("2.3.7"), span.KeyKubelet.String("v1.36.2"),
		span.KeyNodePool.String(pools[node%len(pools)]), span.KeyCPU.Int64(500), span.KeyMemory.Int64(256<<20))
	if node%4 == 0 {
		s.Attributes = append(s.Attributes, span.KeyStorageClasses.StringSlice([]string{"standard"}))
	}
	w.facts(s, outcome, &span.PodFacts{
		Volumes: 1 + w.r.Int64N(4), Node: fmt.Sprintf("node-%d", node), Zone: zones[node%len(zones)],
		Images: []string{w.image, "envoy:1.36"}[:1+w.r.IntN(2)], Restarts: w.r.Int64N(3), Ended: node%2 == 0,
		ExitCode: int64(node % 2),
	})
	w.write(s, "create", "desired", "replicaset-controller", from)
	at := from
	for _, p := range []struct {
		name, service string
		takes         time.Duration
	}{
		{span.NameSchedule, "kube-scheduler", time.Duration(w.r.Int64N(int64(50 * time.Millisecond)))},
		{span.NameSandbox, "kubelet", time.Duration(w.r.Int64N(int64(2 * time.Second)))},
		{span.NamePull, "kubelet", pull},
		{span.NameStart, "kubelet", time.Duration(w.r.Int64N(int64(300 * time.Millisecond)))},
		{span.NameReadiness, "kubelet", time.Duration(w.r.Int64N(int64(20 * time.Second)))},
	} {
		one := w.span(s, p.name, p.service, ref, at, at+p.takes)
		if p.name == span.NamePull || p.name == span.NameStart {
			one.Attributes = []attribute.KeyValue{span.KeyContainer.String("main"), span.KeyImage.String(w.image)}
		}
		at += p.takes
		w.write(s, "update", "observed", p.service, at)
	}
	s.End.Time = w.at.Add(at)
	return at
}
