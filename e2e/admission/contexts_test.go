// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
)

// held is the context that a stored object carries.
type held struct {
	trace.SpanContext
	claim lifeline.Claim
	// ours: it was made for that very object.
	ours       bool
	generation int64
}

// holds reads what an object carries: one that is stored, by its name, or one that
// kubectl printed.
func (s *stage) holds(object string) held {
	s.Helper()
	return read(s, s.kubectl("get", object, "-o", "json"))
}

func read(s *stage, text string) held {
	s.Helper()
	o := &unstructured.Unstructured{}
	s.no(o.UnmarshalJSON([]byte(text)))
	h := held{SpanContext: lifeline.Extract(o), generation: o.GetGeneration()}
	claim, valid := lifeline.ClaimOf(h.SpanContext)
	gvk := o.GroupVersionKind()
	h.claim = claim
	h.ours = valid && claim.Names(lifeline.Identity{
		Group:        gvk.Group,
		Kind:         gvk.Kind,
		Namespace:    o.GetNamespace(),
		Name:         o.GetName(),
		GenerateName: o.GetGenerateName(),
		UID:          string(o.GetUID()),
	})
	return h
}

// fresh expects that an object carries a context that was made for it as it is now,
// of a trace that none of those before has.
func (s *stage) fresh(when, object string, before ...held) held {
	s.Helper()
	h := s.holds(object)
	if !h.ours {
		s.Errorf("%s: %s carries %s, which was not made for it", when, object, id(h))
	}
	if g := h.claim.Generation; g != 0 && h.generation != 0 && g != h.generation {
		s.Errorf("%s: %s carries a context of generation %d, has %d", when, object, g, h.generation)
	}
	for _, b := range before {
		if b.TraceID() == h.TraceID() {
			s.Errorf("%s: %s carries %s, of a trace that it was in before", when, object, id(h))
		}
	}
	return h
}

// still expects that an object carries what was there.
func (s *stage) still(when, object string, want held) {
	s.Helper()
	if h := s.holds(object); id(h) != id(want) {
		s.Errorf("%s: %s carries %s, want %s still", when, object, id(h), id(want))
	}
}

// id is how a context reads.
func id(h held) string {
	if !h.IsValid() {
		return "no context"
	}
	return h.TraceID().String() + "-" + h.SpanID().String()
}

// job is the context of a CI job's step.
func job(n int) held {
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{
			0xc1,
			15: byte(n),
		},
		SpanID:     trace.SpanID{0xc1, 7: byte(n)},
		TraceFlags: trace.FlagsSampled,
	})
	return held{SpanContext: sc}
}

// from is a manifest to which a CI job has added its context.
func (h held) from(manifest string) string {
	return strings.Replace(
		manifest,
		"metadata:\n",
		fmt.Sprintf("metadata:\n  annotations: {%s: %q}\n", lifeline.ContextKey, "00-"+id(h)+"-01"),
		1,
	)
}

// TestContexts: which context is stored after what somebody does to an object, by
// rules P3b, f and g.
func TestContexts(t *testing.T) {
	ledger := follow(t)
	h := newHook(t)
	h.start(t)
	h.install(t)
	tests := map[string]struct {
		reason string
		do     func(s *stage)
	}{
		"undo": {
			reason: "kubectl brings back the old ReplicaSet's annotations; the undo is a change of its own (P3g)",
			do: func(s *stage) {
				apply(web(1, "web:1"))(s)
				first := s.fresh("created", "deployment/web")
				s.settle("create")
				apply(web(1, "web:2"))(s)
				second := s.fresh("changed", "deployment/web", first)
				s.settle("change")
				s.kubectl("rollout", "undo", "deployment/web")
				third := s.fresh("undone", "deployment/web", first, second)
				s.settle("undo")
				s.still("undone and settled", "deployment/web", third)
				old := s.kubectl("get", "replicasets", "-o", `jsonpath={.items[?(@.spec.replicas==1)].metadata.name}`)
				s.still("undone and settled", "replicaset/"+old, third)
			},
		},
		"saved": {
			reason: "a saved object carries the context of the time when it was saved (P3f, P3g)",
			do: func(s *stage) {
				apply(database(1, "db:1"))(s)
				first := s.fresh("created", "statefulset/db")
				s.save("statefulset/db")
				s.kubectl("set", "image", "statefulset/db", "main=registry.example/db:2")
				second := s.fresh("changed", "statefulset/db", first)
				s.settle("change") // or its controller's write of the status may be in the way
				changed := s.kubectl("get", "statefulset/db", "-o", "yaml")
				s.stdin(s.restored("statefulset/db"), "replace", "-f", "-")
				third := s.fresh("replaced", "statefulset/db", first, second)
				s.settle("replace")
				s.stdin(s.restored("statefulset/db"), "replace", "-f", "-")
				s.still("replaced by the same again", "statefulset/db", third)
				s.stdin(database(1, "db:1"), "replace", "-f", "-")
				s.still("replaced by a plain manifest that says the same", "statefulset/db", third)
				s.stdin(changed, "replace", "--force", "-f", "-")
				s.fresh("replaced by force", "statefulset/db", first, second, third)
			},
		},
		"cloned": {
			reason: "another name is another object, and its creation another change (P3a, P3g)",
			do: func(s *stage) {
				apply(database(0, "db:1"))(s)
				first := s.fresh("created", "statefulset/db")
				s.save("statefulset/db")
				s.stdin(renamed(s.restored("statefulset/db"), "db", "copy"), "create", "-f", "-")
				s.fresh("cloned", "statefulset/copy", first)
				s.still("cloned", "statefulset/db", first)
			},
		},
		"scaled": {
			reason: "on an update that its controller would otherwise not write into the ReplicaSet a " +
				"Deployment keeps its context (P3e)",
			do: func(s *stage) {
				apply(web(1, "web:1"))(s)
				first := s.fresh("created", "deployment/web")
				s.kubectl("scale", "deployment/web", "--replicas=2")
				s.still("scaled", "deployment/web", first)
				apply(web(1, "web:1"))(s)
				s.still("scaled by apply", "deployment/web", first)
				s.kubectl("rollout", "pause", "deployment/web")
				s.kubectl("set", "image", "deployment/web", "main=registry.example/web:2")
				s.still("changed while paused", "deployment/web", first)
			},
		},
		"CI jobs": {
			reason: "a context that is not ours is never replaced, but by another such (P3b)",
			do: func(s *stage) {
				apply(job(1).from(web(1, "web:1")))(s)
				s.still("applied by job 1", "deployment/web", job(1))
				apply(job(1).from(web(1, "web:1")))(s)
				s.still("applied again", "deployment/web", job(1))
				s.settle("apply")
				s.still("applied by job 1", s.kubectl("get", "replicasets", "-o", "name"), job(1))
				pod := s.holds(s.kubectl("get", "pods", "-o", "name"))
				if pod.TraceID() != job(1).TraceID() || !pod.ours || pod.claim.Parent != job(1).SpanID() {
					s.Errorf(
						"the Pod carries %s below %s, want one of its own below %s",
						id(pod),
						pod.claim.Parent,
						id(job(1)),
					)
				}
				s.kubectl("scale", "deployment/web", "--replicas=2")
				s.still("scaled by hand", "deployment/web", job(1))
				s.kubectl("set", "image", "deployment/web", "main=registry.example/web:2")
				s.still("changed by hand", "deployment/web", job(1))
				apply(job(2).from(web(1, "web:3")))(s)
				s.still("applied by job 2", "deployment/web", job(2))
				apply(job(1).from(web(1, "web:1")))(s)
				s.still("applied by job 1 anew", "deployment/web", job(1))
				apply(web(1, "web:4"))(s)
				s.still("applied by somebody without one", "deployment/web", job(1))
			},
		},
		"CI job over ours": {
			reason: "who supplies a context beside which our claim was left has it stored, and the claim taken " +
				"away (P3f)",
			do: func(s *stage) {
				apply(settingsMap("1"))(s)
				first := s.fresh("created", "configmap/settings")
				patch(
					"configmap/settings",
					fmt.Sprintf(
						`{"metadata":{"annotations":{%q:"00-%s-01"}},"data":{"value":"2"}}`,
						lifeline.ContextKey,
						id(job(3)),
					),
				)(s)
				s.still("given another", "configmap/settings", job(3))
				if h := s.holds("configmap/settings"); h.claim != (lifeline.Claim{}) {
					s.Errorf("the claim of %s is left beside it: %s", id(first), h.claim)
				}
			},
		},
		"below its owner": {
			reason: "what a controller makes follows from the owner's change (C3), each object with a span of its own",
			do: func(s *stage) {
				apply(database(2, "db:1"))(s)
				owner := s.fresh("created", "statefulset/db")
				s.settle("create")
				a, b := s.fresh("created", "pod/db-0"), s.fresh("created", "pod/db-1")
				for _, pod := range []held{a, b} {
					if pod.TraceID() != owner.TraceID() || pod.claim.Parent != owner.SpanID() {
						s.Errorf("a Pod carries %s below %s, want one below %s", id(pod), pod.claim.Parent, id(owner))
					}
				}
				if a.SpanID() == b.SpanID() {
					s.Errorf("both Pods carry %s", id(a))
				}
			},
		},
		"a CronJob's run": {
			reason: "a run comes by the clock, not from whoever made the CronJob, however short before",
			do: func(s *stage) {
				apply(cron(yearly, false))(s)
				owner := s.fresh("created", "cronjob/nightly")
				last := time.Now().AddDate(-1, 0, 0).UTC().Format(time.RFC3339)
				s.kubectl(
					"patch",
					"cronjob/nightly",
					"--subresource=status",
					"--type=merge",
					"-p",
					fmt.Sprintf(`{"status":{"lastScheduleTime":%q}}`, last),
				)
				s.kubectl("wait", "cronjob/nightly", "--for=jsonpath={.status.lastSuccessfulTime}", "--timeout=4m")
				run := s.holds(s.kubectl("get", "jobs", "-o", "name"))
				if run.TraceID() == owner.TraceID() {
					s.Errorf("the run carries %s, of the trace in which the CronJob was made", id(run))
				}
			},
		},
		"generated names": {
			reason: "two objects whose names are not known yet may be alike in all else",
			do: func(s *stage) {
				var all []held
				for range 2 {
					name := s.stdin(task("generateName: made-", "  suspend: true"), "create", "-f", "-", "-o", "name")
					all = append(all, s.fresh("created", name, all...))
					s.kubectl("label", name, "team=a")
					s.fresh("changed", name, all...)
				}
			},
		},
	}
	t.Run("after", func(t *testing.T) {
		for name, tt := range tests {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tt.do(newStage(t, ledger))
				if t.Failed() {
					t.Log(tt.reason)
				}
			})
		}
	})
}

// follow is a ledger of the cluster, which ends with the test.
func follow(t *testing.T) *stored.Ledger {
	t.Helper()
	ledger := stored.Follow(bench.AuditLog())
	t.Cleanup(func() {
		if err := ledger.Close(); err != nil {
			t.Error(err)
		}
	})
	return ledger
}
