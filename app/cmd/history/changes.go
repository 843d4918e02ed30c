// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// release rolls out a new version of an application. One of twelve fails, and its author later returns to the version
// before it.
func (w *writer) release(a *application, at time.Time) {
	if a.busy(at) {
		return
	}
	from := a.version
	a.newest++
	to := a.newest
	if a.name == heavyApp && a.heavy == 0 && w.month.since(heavyFrom, at) {
		a.heavy = to
	}
	if !w.fails(at, 12) {
		a.version = to
		w.rollout(a, at, from, to)
		return
	}
	a.broken = true
	w.failedRollout(a, at, from, to)
	w.insert(a.free.Add(w.between(3*time.Minute, 25*time.Minute)), func(w *writer, at time.Time) {
		w.rollout(a, at, to, from)
		a.broken = false
	})
}

// busy reports whether a change of the application is under way, or a repair is planned.
func (a *application) busy(at time.Time) bool { return a.broken || at.Before(a.free) }

// deployment begins a change of a Deployment.
func (w *writer) deployment(
	a *application, at time.Time, by author, outcome span.Outcome, change span.FieldChange, edit string,
) *span.Span {
	w.begin(at)
	root := w.reconcile(nil, kind.Deployment.Kind, "deployment-controller", a.namespace, a.name, 0, outcome)
	root.Facts.Workload = a.workload()
	w.write(root, "update", by, 0).Changes = []span.FieldChange{change}
	root.Attributes = append(root.Attributes, span.KeyFields.StringSlice([]string{change.Path}),
		span.KeyEdits.StringSlice([]string{edit}))
	return root
}

func (a *application) workload() string { return kind.Deployment.Kind.Kind + "/" + a.name }

func (a *application) image(version int) string {
	return fmt.Sprintf("%s/%s/%s:1.%d", registryOf(a.namespace), a.namespace, a.name, version)
}

// The registries.
const firstRegistry, secondRegistry = "registry.example.com", "mirror.example.net"

// registryOf returns the registry of the images in a namespace.
func registryOf(namespace string) string {
	if namespace == "search" || namespace == "identity" {
		return secondRegistry
	}
	return firstRegistry
}

// replicaSet returns the name of the ReplicaSet of a version.
func (a *application) replicaSet(version int) string {
	return a.name + "-" + hash(10, a.namespace, a.name, strconv.Itoa(version))
}

// imageChange begins the change from one version to another.
func (w *writer) imageChange(a *application, at time.Time, outcome span.Outcome, from, to int) *span.Span {
	return w.deployment(a, at, a.author, outcome, span.FieldChange{
		Path: "spec.template.spec.containers[name=app].image", Operation: span.FieldReplaced,
		From: a.image(from), To: a.image(to),
	}, fmt.Sprintf("image %s:1.%d → %s:1.%d", a.name, from, a.name, to))
}

// set adds the ReplicaSet of a version.
func (w *writer) set(root *span.Span, a *application, version int, verb string, outcome span.Outcome) *span.Span {
	from := 20 * time.Millisecond
	ref := w.ref(kind.ReplicaSet.Kind, a.namespace, a.replicaSet(version))
	s := w.reconcileOf(root, ref, "replicaset-controller", from, outcome)
	s.Facts.Workload = a.workload()
	w.write(s, verb, author{actor: "deployment-controller"}, from)
	return s
}

func (w *writer) rollout(a *application, at time.Time, from, to int) {
	root := w.imageChange(a, at, span.Converged, from, to)
	set := w.set(root, a, to, "create", span.Converged)
	end := time.Duration(0)
	for n := range a.pods { // one after the other, as the default strategy of few Pods
		end = w.pod(set, a, to, n, end+50*time.Millisecond)
	}
	w.end(set, end)
	w.end(root, end+20*time.Millisecond)
	a.free = w.finish(span.Converged, "")
}

// failedRollout ends by the progress deadline: the image does not exist, or the program ends with an error.
func (w *writer) failedRollout(a *application, at time.Time, from, to int) {
	root := w.imageChange(a, at, span.Failed, from, to)
	set := w.set(root, a, to, "create", span.Failed)
	pod, ref := w.newPod(set, a, to, 0, 50*time.Millisecond, span.Failed)
	end := w.prepare(pod, ref, 50*time.Millisecond)
	var category reason.Category
	var text string
	if w.r.IntN(2) == 0 {
		category = reason.ImageNotFound
		text = fmt.Sprintf("Pod %s cannot pull image %s of container app: not found", ref.Name, a.image(to))
		for wait := 10 * time.Second; end < patience; wait = min(2*wait, 5*time.Minute) {
			pull := w.phase(pod, span.NamePull, ref, end, end+w.between(time.Second, 2*time.Second))
			pull.Status, pull.Message = span.StatusError, "not found"
			pull.Attributes = append(pull.Attributes, span.KeyImage.String(a.image(to)))
			end = w.backoff(pod, ref, w.after(pull), wait)
		}
	} else {
		category = reason.CrashLoop
		end = w.pull(pod, ref, a.image(to), end)
		restarts := 0
		for wait := 10 * time.Second; end < patience; wait = min(2*wait, 5*time.Minute) {
			run := w.phase(pod, span.NameRunning, ref, end, end+w.between(time.Second, 4*time.Second))
			run.Status, run.Message = span.StatusError, "exit code 3"
			run.Attributes = append(run.Attributes, span.KeyContainer.String("app"), span.KeyExit.Int64(3))
			end = w.backoff(pod, ref, w.after(run), wait)
			restarts++
		}
		text = fmt.Sprintf("Pod %s is in a crash loop: container app exited with code 3, restarted %d times",
			ref.Name, restarts-1)
	}
	text = fmt.Sprintf("Deployment %s exceeded its progress deadline: %s", a.name, text)
	for _, s := range []*span.Span{pod, set, root} {
		s.Facts.Reason, s.Status = string(category), span.StatusError
		w.end(s, patience)
	}
	root.Message = text
	root.Attributes = append(root.Attributes, span.KeyReason.String(string(category)),
		span.KeyReasonObject.String("Pod "+ref.Name), span.KeyReasonMessage.String(text))
	a.free = w.finish(span.Failed, text)
}

// backoff adds a wait before the next attempt, until the deadline at most, and returns its end.
func (w *writer) backoff(pod *span.Span, ref object.Ref, from, wait time.Duration) time.Duration {
	s := w.phase(pod, span.NameBackoff, ref, from, min(from+wait, patience))
	return w.after(s)
}

// scale changes the number of Pods.
func (w *writer) scale(a *application, to int, at time.Time) {
	from := a.pods
	if from == to || a.busy(at) {
		return
	}
	root := w.deployment(a, at, author{
		"horizontal-pod-autoscaler", "system:serviceaccount:kube-system:horizontal-pod-autoscaler",
	}, span.Converged, span.FieldChange{
		Path: "spec.replicas", Operation: span.FieldReplaced, From: strconv.Itoa(from), To: strconv.Itoa(to),
	}, fmt.Sprintf("replicas %d → %d", from, to))
	root.Attributes = append(root.Attributes, span.KeyAutoscaler.String("HorizontalPodAutoscaler "+a.name))
	set := w.set(root, a, a.version, "update", span.Converged)
	end := 50 * time.Millisecond
	for n := from; n < to; n++ {
		end = max(end, w.pod(set, a, a.version, n, 50*time.Millisecond))
	}
	for n := to; n < from; n++ {
		end = max(end, w.removedPod(set, a, n))
	}
	w.end(set, end)
	w.end(root, end+20*time.Millisecond)
	a.pods = to
	a.free = w.finish(span.Converged, "")
}

// configure changes the ConfigMap of an application.
func (w *writer) configure(a *application, at time.Time) {
	w.begin(at)
	root := w.reconcile(nil, kind.ConfigMap.Kind, a.author.actor, a.namespace, a.name+"-config", 0, span.Converged)
	change := span.FieldChange{Path: "data.log_level", Operation: span.FieldReplaced}
	w.write(root, "update", a.author, 0).Changes = []span.FieldChange{change}
	root.Attributes = append(root.Attributes, span.KeyFields.StringSlice([]string{change.Path}))
	w.end(root, 0)
	w.finish(span.Converged, "")
}

// job is one run of a CronJob. One of twenty fails.
func (w *writer) job(namespace, name string, at time.Time) {
	outcome := span.Converged
	if w.fails(at, 20) {
		outcome = span.Failed
	}
	w.begin(at.Add(w.between(0, time.Second)))
	run := fmt.Sprintf("%s-%d", name, at.Unix()/60)
	root := w.reconcile(nil, kind.Job.Kind, "job-controller", namespace, run, 0, outcome)
	root.Facts.Workload = kind.CronJob.Kind.Kind + "/" + name
	w.write(root, "create", author{
		"cronjob-controller", "system:serviceaccount:kube-system:cronjob-controller",
	}, 0)
	from := 40 * time.Millisecond
	ref := w.ref(kind.Pod.Kind, namespace, run+"-"+hash(5, run))
	pod := w.reconcileOf(root, ref, "kubelet", from, outcome)
	image := fmt.Sprintf("%s/%s/%s:3.1", registryOf(namespace), namespace, name)
	pod.Facts.Workload = root.Facts.Workload
	w.place(pod, image)
	w.write(pod, "create", author{actor: "job-controller"}, from)
	end := w.pull(pod, ref, image, w.prepare(pod, ref, from))
	task := w.phase(pod, span.NameRunning, ref, end, end+w.between(2*time.Minute, 14*time.Minute))
	task.Attributes = append(task.Attributes, span.KeyContainer.String("app"))
	text := ""
	if outcome == span.Failed {
		text = fmt.Sprintf("Pod %s failed: container app exited with code 1", ref.Name)
		task.Status, task.Message = span.StatusError, "exit code 1"
		task.Attributes = append(task.Attributes, span.KeyExit.Int64(1))
		root.Status, root.Message, pod.Status = span.StatusError, text, span.StatusError
		root.Facts.Reason, pod.Facts.Reason = string(reason.PodFailed), string(reason.PodFailed)
		root.Attributes = append(root.Attributes, span.KeyReason.String(string(reason.PodFailed)),
			span.KeyReasonObject.String("Pod "+ref.Name), span.KeyReasonMessage.String(text))
	}
	w.end(pod, w.after(task)+time.Second)
	w.end(root, w.after(pod)+20*time.Millisecond)
	w.finish(outcome, text)
}

// pod adds a Pod that becomes ready, and returns that time.
func (w *writer) pod(set *span.Span, a *application, version, n int, from time.Duration) time.Duration {
	s, ref := w.newPod(set, a, version, n, from, span.Converged)
	at := w.pull(s, ref, a.image(version), w.prepare(s, ref, from))
	start := w.phase(s, span.NameStart, ref, at, at+w.between(50*time.Millisecond, 300*time.Millisecond))
	start.Attributes = append(start.Attributes, span.KeyContainer.String("app"), span.KeyImage.String(a.image(version)))
	at = w.after(start)
	takes := w.between(time.Second, 12*time.Second)
	if a.heavy > 0 && version >= a.heavy {
		takes *= heavier
	}
	ready := w.phase(s, span.NameReadiness, ref, at, at+takes)
	w.end(s, w.after(ready))
	return w.after(ready)
}

// newPod adds a Pod.
func (w *writer) newPod(
	set *span.Span, a *application, version, n int, from time.Duration, outcome span.Outcome,
) (*span.Span, object.Ref) {
	name := set.Object.Name + "-" + hash(5, w.trace.ID.String(), strconv.Itoa(n))
	ref := w.ref(kind.Pod.Kind, a.namespace, name)
	s := w.reconcileOf(set, ref, "kubelet", from, outcome)
	s.Facts.Workload = a.workload()
	w.place(s, a.image(version))
	w.write(s, "create", author{actor: "replicaset-controller"}, from)
	return s, ref
}

// removedPod adds a Pod that ends, and returns that time.
func (w *writer) removedPod(set *span.Span, a *application, n int) time.Duration {
	from := 60 * time.Millisecond
	s := w.reconcile(set, kind.Pod.Kind, "kubelet", a.namespace,
		set.Object.Name+"-"+hash(5, w.trace.ID.String(), strconv.Itoa(n)), from, span.Deleted)
	s.Facts.Workload = a.workload()
	w.place(s, a.image(a.version))
	w.write(s, "delete", author{actor: "replicaset-controller"}, from)
	gone := w.phase(s, span.NameTerminate, s.Object, from, from+w.between(time.Second, 8*time.Second))
	w.end(s, w.after(gone))
	return w.after(gone)
}

// prepare adds the phases of a Pod before its image, and returns their end. One of some Pods waits for a new Node.
func (w *writer) prepare(pod *span.Span, ref object.Ref, from time.Duration) time.Duration {
	waits := w.between(5*time.Millisecond, 60*time.Millisecond)
	if n := time.Duration(binary.BigEndian.Uint16(pod.ID[:])); n%waiting == 0 {
		waits += 20*time.Second + n*time.Millisecond
	}
	bound := w.phase(pod, span.NameSchedule, ref, from, from+waits)
	bound.Service = "kube-scheduler"
	at := w.after(bound)
	takes := w.between(200*time.Millisecond, 1500*time.Millisecond)
	if pod.Facts.Pod.Node == tiredNode && w.month.since(tiredFrom, w.at) {
		takes *= tired
	}
	return w.after(w.phase(pod, span.NameSandbox, ref, at, at+takes))
}

// pull adds the pull of an image, and returns its end.
func (w *writer) pull(pod *span.Span, ref object.Ref, image string, from time.Duration) time.Duration {
	takes := time.Duration(float64(3*time.Second) * math.Exp(min(w.r.NormFloat64()*0.7, 2)))
	switch first := strings.HasPrefix(image, firstRegistry); {
	case first && w.month.slow(w.at):
		takes *= slowdown
	case !first && w.month.since(mirrorFrom, w.at):
		takes *= mirrored
	}
	if insight.Attribute(pod, span.KeyNodePool) == spot {
		takes = time.Duration(float64(takes) * spotSlowdown)
	}
	s := w.phase(pod, span.NamePull, ref, from, from+takes)
	s.Attributes = append(s.Attributes, span.KeyContainer.String("app"), span.KeyImage.String(image))
	return w.after(s)
}
