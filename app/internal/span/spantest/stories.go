// SPDX-License-Identifier: Apache-2.0

package spantest

import (
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// Event is a moment on a span, at milliseconds after Epoch, with a reason and a
// message.
func Event(ms int, name, reason, message string) span.Event {
	return span.Event{Time: At(ms).Time, Name: name, Attributes: []attribute.KeyValue{
		span.KeyReason.String(reason), span.KeyMessage.String(message),
	}}
}

// CrashLoop is a rollout that failed after 12.3 s. Its container exits with code 1, restarts and
// backs off.
func CrashLoop() *span.Trace {
	b := New("crashloop")
	b.Trace.Outcome = span.Failed
	b.Trace.Reason = "Deployment web: ProgressDeadlineExceeded: Pod web-6cf-x7: container web: exit code 1 (Error)"
	run := b.Run("kubectl apply -f web.yaml", 0, 12300)
	run.Outcome, run.Status, run.Message = span.Failed, span.StatusError, b.Trace.Reason
	d := b.Deployment(run, 5, 12250)
	d.Outcome, d.Status, d.Message = span.Failed, span.StatusError, "ProgressDeadlineExceeded"
	rs := b.ReplicaSet(d, 60, -1)
	rs.Message = "0 of 1 Pods are available"
	ref := Ref("", "Pod", "web-6cf-x7")
	pod := b.Add(rs, "reconcile Pod", "kubelet", ref, 90, -1)
	pod.Message = "container web: CrashLoopBackOff"
	b.Add(pod, "schedule", "kube-scheduler", ref, 90, 110)
	for n, at := range []int{400, 2400} {
		web := []attribute.KeyValue{span.KeyContainer.String("web"), span.KeyAttempt.Int(n + 1)}
		s := b.Add(pod, "start container", "kubelet", ref, at, at+50, web...)
		s.Status, s.Message = span.StatusError, "container web: exit code 1 (Error)"
		s.Events = []span.Event{{Time: At(at + 1000).Time, Name: "container exited", Attributes: []attribute.KeyValue{
			attribute.Int("lifeline.container.exit_code", 1), span.KeyReason.String("Error"),
		}}}
		end := at + 2000
		if n == 1 {
			end = -1
		}
		w := b.Add(pod, "backoff", "kubelet", ref, at+1000, end, web...)
		w.Status, w.Message = span.StatusError, "container web: exit code 1 (Error)"
	}
	return b.Trace
}

// Unschedulable is a rollout that waits for room on a node.
func Unschedulable() *span.Trace {
	const message = "0/3 nodes are available: 3 Insufficient memory. preemption: 0/3 nodes are available: 3 No " +
		"preemption victims found for incoming pod."
	return unschedulable("unschedulable", message)
}

func unschedulable(name, message string) *span.Trace {
	b := New(name)
	b.Trace.Outcome = span.Unfinished
	b.Trace.Reason = "Pod web-6cf-x7 cannot be scheduled: " + message
	run := b.Run("kubectl apply -f web.yaml", 0, -1)
	run.Message = b.Trace.Reason
	why := []attribute.KeyValue{
		span.KeyReason.String("unschedulable_memory"),
		span.KeyReasonMessage.String(b.Trace.Reason),
		span.KeyReasonObject.String("Pod web-6cf-x7"),
		span.KeyReasonSince.String(At(110).UTC().Format(time.RFC3339Nano)),
		span.KeyReasonBefore.StringSlice([]string{"200ms for a node"}),
		span.KeyReasonNext.String("kubectl describe node"),
	}
	run.Attributes = append(run.Attributes, why...)
	d := b.Deployment(run, 5, -1)
	d.Attributes = append(d.Attributes, why...)
	d.Message = "0 of 1 replicas are available"
	rs := b.ReplicaSet(d, 60, -1)
	rs.Message = d.Message
	ref := Ref("", "Pod", "web-6cf-x7")
	pod := b.Add(rs, "reconcile Pod", "kubelet", ref, 90, -1)
	pod.Message = "cannot be scheduled: " + message
	s := b.Add(pod, "schedule", "kube-scheduler", ref, 90, -1)
	s.Status, s.Message = span.StatusError, message
	s.Events = []span.Event{
		Event(110, "scheduling failed", "Unschedulable", "0/3 nodes are available: 3 node(s) had untolerated taint."),
		Event(2000, "scheduling failed", "Unschedulable", message),
	}
	return b.Trace
}

// Many is a Deployment of n Pods. Each takes longer than the one before; every 100th fails.
func Many(n int) *span.Trace {
	b := New(fmt.Sprint("many", n))
	run := b.Run("kubectl scale deployment web --replicas="+strconv.Itoa(n), 0, 5000+3*n)
	d := b.Deployment(run, 5, 5000+3*n)
	rs := b.ReplicaSet(d, 60, 4900+3*n)
	for i := range n {
		pod := b.Pod(rs, fmt.Sprintf("web-6cf-%04d", i), 100+i, 4000+3*i)
		if i%100 == 99 {
			pod.Outcome, pod.Status, pod.Message = span.Failed, span.StatusError,
				"Evicted: node node-1 was low on memory"
		}
	}
	return b.Trace
}

// Healing is a command that deletes a Pod, and the trace of its replacement.
func Healing() []*span.Trace {
	b := New("delete")
	run := b.Run("kubectl delete pod web-6cf-x7", 0, 1300)
	ref := Ref("", "Pod", "web-6cf-x7")
	pod := b.Add(run, "reconcile Pod", "kubelet", ref, 20, 1300)
	pod.Outcome, pod.Evidence = span.Deleted, span.ByRequest
	w := b.Add(pod, "delete Pod", "kubectl", ref, 20, 31, span.KeyVerb.String("delete"), span.KeyStatusCode.Int(200))
	Write(w, span.Write{Verb: "delete", Actor: "kubectl", Start: w.Start.Time, End: w.End.Time})
	b.Add(pod, "terminate", "kubelet", ref, 31, 1300)

	h := New("heal")
	root := h.Pod(nil, "web-6cf-k2", 60, 2400)
	root.Attributes = append(root.Attributes,
		span.KeyHeals.String("Pod web-6cf-x7"), span.KeyActor.String("replicaset-controller"))
	root.Evidence = ""
	root.Links = []span.Link{{TraceID: b.Trace.ID, SpanID: pod.ID}}
	return []*span.Trace{b.Trace, h.Trace}
}

// Fight is the fifth change in a fight over a number of replicas.
func Fight() *span.Trace {
	b := New("fight")
	d := b.Deployment(nil, 0, 100)
	d.Attributes = append(d.Attributes,
		span.KeyFight.StringSlice([]string{"spec.replicas"}),
		span.KeyFightOpponents.StringSlice([]string{"horizontal-pod-autoscaler"}),
		span.KeyFightCount.Int64(5), span.KeyFightDuration.Float64(40.3))
	return b.Trace
}

// Hostile is a trace with terminal escapes and invalid UTF-8 in every text.
func Hostile() *span.Trace {
	const evil = "\x1b[31mred\x1b]0;title\x07 \u202egnp.exe\u2066\nnext\rback\tтест 日本語\xff\xc3\u200b\u009b1A"
	b := New("hostile")
	b.Trace.Outcome, b.Trace.Reason = span.Failed, evil
	run := b.Run("kubectl apply -f "+evil, 0, 3000)
	run.Status, run.Message = span.StatusError, evil
	ref := object.Ref{
		Kind: object.Kind{Group: evil, Version: evil, Kind: evil}, Namespace: evil, Name: evil, UID: "uid-evil",
	}
	s := b.Add(run, "reconcile "+evil, evil, ref, 100, 2000, span.KeyContainer.String(evil),
		attribute.String(evil, evil))
	s.Status, s.Outcome, s.Message = span.StatusError, span.Failed, evil
	s.Events = []span.Event{Event(200, "failed "+evil, evil, evil)}
	wide := b.Add(run, "reconcile 设备", "オペレータ", object.Ref{
		Kind: object.Kind{Group: "例え.jp", Version: "v1", Kind: "设备"}, Namespace: "名前", Name: "デプロイメント-日本語-漢字かな",
		UID: "uid-wide",
	}, 100, 2500)
	b.Add(wide, "pull image", "kubelet", wide.Object, 200, 2400, span.KeyImage.String("レジストリ.example/画像/アプリケーション:最新版"))
	return b.Trace
}

// Rollout is a change in two namespaces, superseded while it was open. One write is refused, and
// one cause is known by time only.
func Rollout() *span.Trace {
	b := New("rollout")
	b.Trace.Outcome = span.Failed
	b.Trace.Reason = `Forbidden: deployments.apps "api" is forbidden`
	run := b.Run("helm upgrade shop ./shop", 0, 2600)
	run.Outcome, run.Status, run.Message = span.Failed, span.StatusError, b.Trace.Reason
	d := b.Deployment(run, 5, 1400)
	d.Outcome, d.Message = span.Superseded, ""
	api := Ref("apps", "Deployment", "api")
	api.Namespace, api.UID = "backend", ""
	w := b.Add(run, "create Deployment", "helm", api, 40, 52, span.KeyVerb.String("create"),
		span.KeyStatusCode.Int(403))
	w.Status, w.Outcome, w.Message = span.StatusError, span.Failed, b.Trace.Reason
	cert := b.Add(run, "reconcile Certificate", "cert-manager", Ref("cert-manager.io", "Certificate", "shop-tls"), 60,
		2600)
	cert.Outcome, cert.Evidence = span.Converged, span.ByTime
	cert.Start.Source, cert.End.Source = span.TimeObject, span.TimeObject
	b.Add(cert, "condition", "cert-manager", cert.Object, 100, 2600,
		attribute.String("k8s.object.condition.type", "Ready"))
	return b.Trace
}

// Causes is a rollout with several causes: two changes of one Deployment at the same time, of which
// an autoscaler made one, and a Pod that replaces another. One Pod is stuck. The command is a step
// of a trace outside the cluster.
func Causes() *span.Trace {
	b := New("causes")
	b.Trace.Outcome = span.Unfinished
	b.Trace.Reason = "Pod web-6cf-k2: container web: exit code 1 (Error)"
	run := b.Run("kubectl apply -f web.yaml", 0, -1)
	run.Parent, run.RemoteParent = span.DeriveID(b.Trace.ID, "step"), true
	hpa := b.Add(run, "reconcile HorizontalPodAutoscaler", "horizontal-pod-autoscaler",
		Ref("autoscaling", "HorizontalPodAutoscaler", "web"), 10, 900, span.KeyActor.String("kubectl"))
	hpa.Outcome, hpa.Evidence = span.Converged, span.ByRequest
	rollout := b.Deployment(run, 5, -1)
	rollout.Attributes = append(rollout.Attributes, span.KeyActor.String("kubectl"))
	scaling := b.Add(hpa, "reconcile Deployment", "deployment-controller", rollout.Object, 300, 2000,
		span.KeyActor.String("horizontal-pod-autoscaler"))
	scaling.Outcome, scaling.Evidence = span.Converged, span.ByRelation
	rs := b.ReplicaSet(rollout, 60, -1)
	rs.Attributes = append(rs.Attributes, span.KeyActor.String("deployment-controller"))
	scaled := b.Pod(scaling, "web-6cf-x7", 320, 1900)
	scaled.Attributes = append(scaled.Attributes, span.KeyActor.String("replicaset-controller"))
	ref := Ref("", "Pod", "web-6cf-k2")
	pod := b.Add(rs, "reconcile Pod", "kubelet", ref, 2500, -1, span.KeyActor.String("replicaset-controller"))
	wait := b.Add(pod, "backoff", "kubelet", ref, 3000, -1)
	wait.Status, wait.Message = span.StatusError, "container web: exit code 1 (Error)"

	link := func(from *span.Span, id trace.TraceID, to trace.SpanID, reason string) {
		from.Links = append(from.Links, span.Link{TraceID: id, SpanID: to, Reason: reason})
	}
	link(rollout, b.Trace.ID, scaling.ID, "concurrent")
	link(scaling, b.Trace.ID, rollout.ID, "concurrent")
	link(scaling, b.Trace.ID, hpa.ID, "autoscaler")
	other := Healing()[0]
	link(rollout, other.ID, other.Spans[0].ID, "previous")
	link(pod, other.ID, other.Spans[1].ID, "heals")
	b.Trace.Spans = span.TreeOrder(b.Trace.Spans)
	return b.Trace
}
