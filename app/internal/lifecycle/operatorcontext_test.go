// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// operatorStories are stories of contexts that operators put on their dependants (C1, P2, C3).
func operatorStories() map[string]contextStory {
	return map[string]contextStory{
		"operator": {
			"an operator's write with the context of its owner's trace is below the owner (C1, P2)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, madeFor("Child", "child")))
				s.write("grandchild", childOf("Child", "child", "Part"), carrying(traceA, 3, nil))
				s.finish("grandchild", "child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
      reconcile Part grandchild converged (annotation)
`,
		},
		"without inbound context": {
			"an operator starts a trace because the owner had no context: one tree, and its trace " +
				"is linked",
			func(s *story) {
				s.write("head", custom("Head"))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceB, 2, nil))
				s.write("sibling", childOf("Head", "head", "Child"), carrying(traceB, 3, nil))
				s.write("grandchild", childOf("Child", "child", "Part"), carrying(traceB, 4, nil))
				s.finish("grandchild", "child", "sibling", "head")
			},
			`
trace 0 converged
  reconcile Head head converged
    reconcile Child child converged (owner) ~annotation
      reconcile Part grandchild converged (annotation) ~annotation
    reconcile Child sibling converged (owner) ~annotation
`,
		},
		"link mode": {
			"each reconcile is a root that links to the context on its object: the claim leads to the owner, one tree",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceB, 2, linkedTo(traceA, 1)))
				s.write("grandchild", childOf("Child", "child", "Part"), carrying(traceC, 3, linkedTo(traceB, 2)))
				s.finish("grandchild", "child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation) ~annotation
      reconcile Part grandchild converged (annotation) ~annotation
`,
		},
		"link mode in a run": {
			"the same below a command's write: its trace comes first, and the context on the object leads there",
			func(s *story) {
				s.run(runID, "kubectl create")
				s.write("head", custom("Head"), carrying(runID, 1, nil))
				s.requested(runID, "create", 201)
				s.write("child", childOf("Head", "head", "Child"), carrying(traceB, 2, linkedTo(runID, 1)))
				s.finish("child", "head")
				s.ran(runID, "kubectl create")
			},
			`
trace 0 converged
  run converged
    reconcile Head head converged (request)
      create Head head (request)
      reconcile Child child converged (annotation) ~annotation
`,
		},
		"long": {
			"a reconciliation that takes longer than an hour is still its context's (P2 before P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, changedAgo(0)))
				s.wait(50 * time.Minute)
				s.write("head", func(st *observation.State) {
					st.Conditions = []observation.Condition{
						{Type: "Ready", Status: "False"},
					}
				})
				s.wait(50 * time.Minute)
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, changedAgo(0)))
				s.finish("child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
`,
		},
		"copied onto a child": {
			"what is copied from the owner names the owner, which is no clone (P2)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, madeFor("Head", "head")))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 1, madeFor("Head", "head")))
				s.finish("child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
`,
		},
		"merged": {
			"a controller that still acts on the replaced state works for the newest, and that is linked (L2)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("head", changed, carrying(traceB, 2, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child", "head")
			},
			`
trace 0 superseded
  reconcile Head head superseded (annotation)
trace 1 converged
  reconcile Head head converged (annotation) ~previous
    reconcile Child child converged (owner) ~superseded
`,
		},
		"afterwards": {
			"an owner's status shows too soon that it has converged: its controller's next write for that trace " +
				"belongs to it",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil), arrived)
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.finish("child")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
`,
		},
		"healing": {
			"an operator starts a trace to heal: it is the trace, with a link to the healed one (C3, L5)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.write("other", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child", "other", "head")
				s.wait(time.Minute)
				s.gone("child")
				s.gone("other")
				s.write("child2", childOf("Head", "head", "Child"), carrying(traceB, 4, linkedTo(traceA, 1)))
				s.write("other2", childOf("Head", "head", "Child"), carrying(traceB, 5, linkedTo(traceA, 1)))
				s.finish("child2", "other2")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
    reconcile Child other converged (annotation)
trace 1 deleted
  reconcile Child child deleted ~previous
trace 2 deleted
  reconcile Child other deleted ~previous
trace 3 converged
  reconcile Child child2 converged (annotation) ~owner ~heals
  reconcile Child other2 converged (annotation) ~owner ~heals
`,
		},
		"healing with the old context": {
			"an operator heals with the owner's context, of a trace that is over: the healing has a separate " +
				"trace (C3, P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.finish("child", "head")
				s.wait(time.Minute)
				s.gone("child")
				s.write("child2", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child2")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
trace 1 deleted
  reconcile Child child deleted ~previous
trace 2 converged
  reconcile Child child2 converged ~owner ~heals ~stale
`,
		},
		"healing at once": {
			"the same right after the owner has converged: what replaces something lost is healing",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.finish("child", "head")
				s.gone("child")
				s.write("child2", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child2")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
trace 1 deleted
  reconcile Child child deleted ~previous
trace 2 converged
  reconcile Child child2 converged ~owner ~heals ~stale
`,
		},
		"healing before memory": {
			"the owner had converged before the observer began: its context is of a trace that is over",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.finish("head")
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil), arrived)
				s.before()
				s.gone("child")
				s.write("child2", childOf("Head", "head", "Child"), carrying(traceA, 3, nil))
				s.finish("child2")
			},
			`
trace 0 deleted
  reconcile Child child deleted
trace 1 converged
  reconcile Child child2 converged ~heals ~stale
`,
		},
		"child edited": {
			"a child that somebody else changes with a context of their own is that trace's (L5)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.write("child", changed, by("kubectl-edit"), carrying(traceB, 3, nil))
				s.finish("child", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child superseded (annotation)
trace 1 converged
  reconcile Child child converged (annotation) ~previous
`,
		},
	}
}
