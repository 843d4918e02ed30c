// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// strangerStories are of contexts that others put on objects (P4, L5).
func strangerStories() map[string]contextStory {
	return map[string]contextStory{
		"cloned": {
			"a manifest saved from another object and created again starts a separate trace (P4)",
			func(s *story) {
				s.write("copy", custom("Head"), carrying(traceA, 1, madeFor("Head", "head")))
				s.finish("copy")
			},
			`
trace 0 converged
  reconcile Head copy converged ~stale
`,
		},
		"generated name": {
			"a context from before the object had a name refers to its generateName",
			func(s *story) {
				s.write(
					"head-x7k2p",
					custom("Head"),
					carrying(traceA, 1, madeFor("Head", "head-")),
					func(st *observation.State) { st.GenerateName = "head-" },
				)
				s.finish("head-x7k2p")
			},
			`
trace 0 converged
  reconcile Head head-x7k2p converged (annotation)
`,
		},
		"old": {
			"a context of a change more than an hour ago is stale (P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, changedAgo(61*time.Minute)))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged ~stale
`,
		},
		"not so old": {
			"within the hour it is an outside parent (L5)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, changedAgo(59*time.Minute)))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"claim of another span": {
			"a claim with another span than the context's is ignored (P3a)",
			func(s *story) {
				s.write(
					"head",
					custom("Head"),
					carrying(traceA, 1, changedAgo(2*time.Hour)),
					func(st *observation.State) {
						st.TraceParent = fmt.Sprintf("00-%s-%016x-01", traceA, 2)
					},
				)
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"claim without span": {
			"nor does one that names no span",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil), func(st *observation.State) {
					st.TraceState = fmt.Sprintf("lifeline=t:%d", epoch.Unix()-7200)
				})
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"forged": {
			"naming an open trace that has nothing to do with the object joins nothing (P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("forged", custom("Head"), by("mallory"), carrying(traceA, 2, nil))
				s.finish("forged", "head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
trace 1 converged
  reconcile Head forged converged ~unverified
`,
		},
		"forged onto a derived trace": {
			"nor does naming a derived trace, by any author",
			func(s *story) {
				s.run(runID, "kubectl create")
				s.write("head", custom("Head"))
				s.requested(runID, "create", 201)
				s.write("forged", custom("Head"), carrying(runID, 2, nil))
				s.finish("forged", "head")
				s.ran(runID, "kubectl create")
			},
			`
trace 0 converged
  run converged
    reconcile Head head converged (request)
      create Head head (request)
trace 1 converged
  reconcile Head forged converged ~unverified
`,
		},
		"over": {
			"naming a trace that has been quiet since it ended starts nothing (P4)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.finish("head")
				s.wait(time.Minute)
				s.write("late", custom("Head"), carrying(traceA, 2, nil))
				s.finish("late")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
trace 1 converged
  reconcile Head late converged ~stale
`,
		},
		"pipeline": {
			"one component that writes objects with spans of one outside trace is one trace, each below its span (L5)",
			func(s *story) {
				s.write("a", custom("Head"), carrying(traceA, 1, nil))
				s.write("b", custom("Head"), carrying(traceA, 2, nil))
				s.finish("a", "b")
			},
			`
trace 0 converged
  reconcile Head a converged (annotation)
  reconcile Head b converged (annotation)
`,
		},
		"again": {
			"an object in the trace may be written again for it, by any author (P2)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("head", changed, by("defaulter"), carrying(traceA, 2, nil))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"there before": {
			"a context that was there before the write is no cause (C1)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.finish("head")
				s.wait(time.Minute)
				s.write("head", changed, by("kubectl-edit"))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
trace 1 converged
  reconcile Head head converged ~previous
`,
		},
		"other state": {
			"a context made for an older generation is not for this desired state (L1)",
			func(s *story) {
				claim := madeFor("Head", "head")
				claim.Generation = 1
				s.write("head", custom("Head"))
				s.write("head", changed, carrying(traceA, 1, claim))
				s.finish("head")
			},
			`
trace 0 superseded
  reconcile Head head superseded
trace 1 converged
  reconcile Head head converged ~superseded ~previous
`,
		},
		"restored": {
			"a context made for a later generation was saved, and the object created again (P4)",
			func(s *story) {
				claim := madeFor("Head", "head")
				claim.Generation = 7
				s.write("head", custom("Head"), carrying(traceA, 1, claim))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged ~stale
`,
		},
		"this state": {
			"one made for this generation is its parent",
			func(s *story) {
				claim := madeFor("Head", "head")
				claim.Generation = 1
				s.write("head", custom("Head"), carrying(traceA, 1, claim))
				s.finish("head")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
`,
		},
		"taken while needed": {
			"a trace that has ended stays what it was while its objects are in one that is open",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("child", childOf("Head", "head", "Child"), carrying(traceA, 2, nil))
				s.write("other", custom("Head"), carrying(traceA, 3, nil))
				s.finish("child", "other", "head")
				s.write("child", deleting)
				s.wait(time.Minute)
				s.write("child", func(st *observation.State) { st.Finalizers = []string{"x"} })
				s.write("late", custom("Head"), carrying(traceA, 4, nil))
				s.finish("late")
				s.wait(time.Minute)
				s.gone("child")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
    reconcile Child child converged (annotation)
  reconcile Head other converged (annotation)
trace 1 deleted
  reconcile Child child deleted ~previous
trace 2 converged
  reconcile Head late converged ~stale
`,
		},
		"unverified while taken": {
			"the decision about a context does not change when its trace ends first",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil))
				s.write("forged", custom("Head"), by("mallory"), carrying(traceA, 2, nil))
				s.finish("head")
				s.wait(time.Minute)
				s.finish("forged")
			},
			`
trace 0 converged
  reconcile Head head converged (annotation)
trace 1 converged
  reconcile Head forged converged ~unverified
`,
		},
		"being deleted": {
			"a deletion is a separate change, with any context on the deleted object (L6)",
			func(s *story) {
				s.write("head", custom("Head"), carrying(traceA, 1, nil), deleting)
				s.baseline()
				s.gone("head")
			},
			`
trace 0 deleted
  reconcile Head head deleted
`,
		},
	}
}
