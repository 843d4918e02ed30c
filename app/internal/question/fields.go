// SPDX-License-Identifier: Apache-2.0

package question

import (
	"cmp"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// fields is the table of all fields, in the order of the documents. A field of data is one row. CEL,
// completion, the archive's columns and views, the API, the page and the guide follow from it.
var fields = table(
	[]Field{
		memberText("kind", "kind", "kind of the object, such as `Pod`",
			func(l *Lifecycle) *string { return &l.Object.Kind.Kind }).faceted(),
		memberText("group", "api_group", "API group of the object; empty for the core group",
			func(l *Lifecycle) *string { return &l.Object.Group }).ofObject(),
		memberText("namespace", "namespace", "namespace of the object; empty for an object of the cluster",
			func(l *Lifecycle) *string { return &l.Object.Namespace }).faceted(),
		memberText("name", "name", "name of the object",
			func(l *Lifecycle) *string { return &l.Object.Name }).ofObject(),
		memberText("uid", "uid", "UID of the object",
			func(l *Lifecycle) *string { return (*string)(&l.Object.UID) }).ofObject(),
		text("workload", "kind and name of its workload, such as `Deployment/web`",
			func(s Source) any { return s.facts().Workload }).faceted(),
		limited(verbs, text("verb", "verb of the first write", func(s Source) any { return s.facts().Verb })),
		text("actor", "component that wrote", fromAttribute(span.KeyActor)).faceted(),
		text("revision", "revision of a change by Helm, Argo CD, Flux or cert-manager; empty without one",
			fromAttribute(span.KeyRevision)),
		text("user", "user of the request, from the audit log", fromAttribute(span.KeyActorUser)).faceted(),
		text("author", "author of the change that caused the write: its user, or else its component",
			func(s Source) any {
				return cmp.Or(attributeOf(s.Root, span.KeyActorUser), attributeOf(s.Root, span.KeyActor),
					attributeOf(s.Span, span.KeyActor))
			}).faceted(),
		limited(span.Outcomes, memberText(outcome, outcome,
			"`converged`, `superseded`, `failed`, `refused`, `deleted` or `unfinished`; empty for an open lifecycle",
			func(l *Lifecycle) *string { return &l.Outcome })),
		limited(span.Outcomes, text("was",
			"outcome before a later claim, such as that of a recovery; empty without one", fromAttribute(span.KeyWas))),
		limited(reason.Names(), text("reason", "category of the reason; empty without one", func(s Source) any {
			return cmp.Or(attributeOf(s.Span, span.KeyReason), s.facts().Reason)
		})),
		{
			Name: "start", Type: Timestamp, Table: Lifecycles, Column: "start", Meaning: "first write",
			value: func(l *Lifecycle) any { return within(l.Start) },
			set:   setInt(func(l *Lifecycle, n int64) { l.Start = time.Unix(0, n).UTC() }),
		},
		{
			Name: "duration", Type: Duration, Table: Lifecycles, Column: "duration",
			Meaning: "first write → outcome, or until now",
			value:   func(l *Lifecycle) any { return l.Duration },
			set:     setInt(func(l *Lifecycle, n int64) { l.Duration = time.Duration(n) }),
		},
		{
			Name: End, Type: Timestamp, Optional: true, Meaning: "outcome of a finished lifecycle",
			value: endOf,
		},
		{
			Name: "volumes", Type: Int, Meaning: "number of volumes of a Pod",
			From: ofPod(func(_ Source, p *span.PodFacts) any { return p.Volumes }),
		},
		text("node", "node of a Pod; empty without one",
			ofPod(func(_ Source, p *span.PodFacts) any { return p.Node })).faceted(),
		text("zone", "zone of that node; empty if unknown",
			ofPod(func(_ Source, p *span.PodFacts) any { return p.Zone })).faceted().node(),
		text("region", "region of that node; empty if unknown", ofNode(span.KeyRegion)).faceted().node(),
		text("instance_type", "machine type of that node, such as `m7i.large`; empty if unknown",
			ofNode(span.KeyInstanceType)).faceted().node(),
		text("runtime", "container runtime of that node, such as `containerd://2.3.7`; empty if unknown",
			ofPod(func(s Source, _ *span.PodFacts) any {
				runtime := attributeOf(s.Span, span.KeyRuntime)
				if version := attributeOf(s.Span, span.KeyRuntimeVersion); version != "" {
					runtime += span.RuntimeSeparator + version
				}
				return runtime
			})).faceted().node(),
		text("kubelet", "version of the kubelet of that node, such as `v1.36.2`; empty if unknown",
			ofNode(span.KeyKubelet)).faceted().node(),
		text("node_pool", "node pool of that node, by a label of its provider; empty if unknown",
			ofNode(span.KeyNodePool)).faceted().node(),
		text("scheduler", "scheduler of a Pod; empty for `default-scheduler`",
			fromAttribute(span.KeyScheduler)).faceted(),
		number("cpu", "thousandths of a CPU that a Pod's containers request", span.KeyCPU),
		number("memory", "bytes of memory that a Pod's containers request", span.KeyMemory),
		number("replicas", "desired number of a workload's Pods", span.KeyReplicas),
		{
			Name: "images", Type: List, Meaning: "images of a Pod's containers",
			From: ofPod(func(_ Source, p *span.PodFacts) any { return p.Images }),
		},
		{
			Name: "storage_classes", Type: List, Meaning: "storage classes of a Pod's claims",
			From: func(s Source) any { return listOf(s.Span, span.KeyStorageClasses) },
		},
		{
			Name: "restarts", Type: Int, Meaning: "number of restarts of a Pod's containers",
			From: ofPod(func(_ Source, p *span.PodFacts) any { return p.Restarts }),
		},
		{
			Name: "exit_code", Type: Int, Meaning: "exit code of the container of a Pod that ended last",
			From: ofPod(func(_ Source, p *span.PodFacts) any {
				if !p.Ended {
					return nil
				}
				return p.ExitCode
			}),
		},
		{
			Name: "changed", Type: List, Meaning: "paths of the changed fields, at most 16",
			From: func(s Source) any { return listOf(s.Span, span.KeyFields) },
		},
		{Name: labels, Type: Map, Meaning: "labels of the configured keys", From: func(s Source) any {
			out := make(map[string]string, len(s.facts().Labels))
			for _, label := range s.facts().Labels {
				out[label.Key] = label.Value
			}
			return out
		}},
		{
			Name: "trace", Type: String, Table: Traces, Column: "id", Meaning: "ID of the trace, in lower case",
			value: func(l *Lifecycle) any { return l.Trace.String() },
		},
		text("heals", "cause of a change that the cluster made by itself; empty for others",
			func(s Source) any { return attributeOf(s.Root, span.KeyHeals) }).faceted(),
	},
	phaseFields(), stepFields(),
)

// verbs are the values of verb.
var verbs = []string{"create", "update", "delete"}

// text returns a field of data with a text.
func text(name, meaning string, from func(Source) any) Field {
	return Field{Name: name, Type: String, Meaning: meaning, From: from}
}

// number returns a field of data with the number of an attribute.
func number(name, meaning string, key attribute.Key) Field {
	return Field{Name: name, Type: Int, Meaning: meaning, From: func(s Source) any { return numberOf(s.Span, key) }}
}

// memberText returns a field whose text is a member of Lifecycle.
func memberText(name, column, meaning string, of func(*Lifecycle) *string) Field {
	return Field{
		Name: name, Type: String, Table: Lifecycles, Column: column, Meaning: meaning,
		value: func(l *Lifecycle) any { return *of(l) },
		set: func(l *Lifecycle, v any) {
			if s, is := v.(string); is {
				*of(l) = s
			}
		},
	}
}

// ofObject returns the field in the table of objects.
func (f Field) ofObject() Field {
	f.Table = Objects
	return f
}

// faceted returns the field with Facet.
func (f Field) faceted() Field {
	f.Facet = true
	return f
}

// node returns the field with OfNode.
func (f Field) node() Field {
	f.OfNode = true
	return f
}

// limited returns the field with its values.
func limited[T ~string](values []T, f Field) Field {
	for _, v := range values {
		f.Values = append(f.Values, string(v))
	}
	return f
}

// setInt returns a function that sets a number.
func setInt(set func(*Lifecycle, int64)) func(*Lifecycle, any) {
	return func(l *Lifecycle, v any) {
		if n, is := v.(int64); is {
			set(l, n)
		}
	}
}

// phaseFields returns one field a phase.
func phaseFields() []Field {
	var out []Field
	for _, p := range Phases() {
		out = append(out, Field{
			Name: phase + "." + p.Name, Type: Duration, Optional: true,
			Table: Lifecycles, Column: "phase_" + p.Name, Meaning: p.Meaning,
			value: func(l *Lifecycle) any { return phaseLength(l.Phases, p.Name) },
			set: setInt(func(l *Lifecycle, n int64) {
				if l.Phases == nil {
					l.Phases = map[string]time.Duration{}
				}
				l.Phases[p.Name] = time.Duration(n)
			}),
		})
	}
	return out
}

// phaseLength returns the length of a phase, or nil.
func phaseLength(phases map[string]time.Duration, name string) any {
	if d, ok := phases[name]; ok {
		return d
	}
	return nil
}
