// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"fmt"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// claiming puts a context with a claim on the object.
func claiming(id string, n int, claim lifeline.Claim) trait {
	return func(st *state) {
		sc := lifeline.Claimed(change.ParseContext(traceParent(id, n), ""), claim)
		st.TraceParent, st.TraceState = traceParent(id, n), sc.TraceState().String()
	}
}

func identityOf(st *state) lifeline.Identity {
	return lifeline.Identity{Group: st.Group, Kind: st.Kind.Kind, Namespace: st.Namespace, Name: st.Name}
}

// TestByAnnotation: a new context on an object is its cause if rule P4 accepts it, and else a link.
func TestByAnnotation(t *testing.T) {
	child := childOfHead("Tail")
	head := lifeline.Identity{Group: "example.com", Kind: "Head", Namespace: "default", Name: "head"}
	// open stores an object under way with a context of trace A.
	open := func(c *cluster) {
		c.store("head", custom("Head"), carrying(traceA, 1), pending).begins().in(traceA)
	}
	testRule(t, byAnnotation, map[string]ruleCase{
		"Outside": {"the trace is unknown here", func(c *cluster) {
			c.store("head", custom("Head"), carrying(traceA, 1))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"None": {"the object has no context", func(c *cluster) {
			c.store("head", custom("Head"))
		}, "no cause"},
		"Invalid": {"the context is malformed", func(c *cluster) {
			c.store("head", custom("Head"), func(st *state) { st.TraceParent = "00-zz" })
		}, "no cause"},
		"Old": {"an older context is no cause", func(c *cluster) {
			open(c)
			c.store("head", by("kubectl-edit"), leaf("spec.size"))
		}, "no cause"},
		"Owner's": {"the controller works for the open owner in its trace", func(c *cluster) {
			open(c)
			c.store("tail", child, carrying(traceA, 2))
		}, "below head (annotation)"},
		"Linked to the owner's": {"the claim names the trace of the owner", func(c *cluster) {
			open(c)
			sc := change.ParseContext(traceParent(traceA, 1), "")
			c.store("tail", child, claiming(traceB, 2, lifeline.Claim{ParentTrace: sc.TraceID(), Parent: sc.SpanID()}))
		}, "below head (annotation) ~annotation bbbb"},
		"Separate from the owner's": {"the controller has separate traces", func(c *cluster) {
			open(c)
			c.store("tail", child, carrying(traceB, 2))
		}, "no cause ~annotation bbbb"},
		"Copied": {"the claim was made for another object", func(c *cluster) {
			other := lifeline.Identity{Group: "example.com", Kind: "Head", Namespace: "default", Name: "other"}
			c.store("head", custom("Head"), claiming(traceA, 1, lifeline.Claim{Object: other.Hash()}))
		}, "no cause ~stale aaaa"},
		"Claimed": {"the claim was made for this object", func(c *cluster) {
			c.store("head", custom("Head"), claiming(traceA, 1, lifeline.Claim{Object: head.Hash(), Generation: 1}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"From a backup": {"the claim has a later generation", func(c *cluster) {
			c.store("head", custom("Head"), claiming(traceA, 1, lifeline.Claim{Object: head.Hash(), Generation: 7}))
		}, "no cause ~stale aaaa"},
		"Superseded": {"the claim has an earlier generation", func(c *cluster) {
			claim := lifeline.Claim{Object: head.Hash(), Generation: 1}
			c.store("head", custom("Head"), func(st *state) { st.Generation = 2 }, claiming(traceA, 1, claim))
		}, "no cause ~superseded aaaa"},
		"Copied from an owner": {"the controllers of an object copy its context", func(c *cluster) {
			up := lifeline.Identity{UID: "uid-head"}
			c.store("tail", child, claiming(traceA, 1, lifeline.Claim{Object: up.Hash(), Generation: 7}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Copied from an owner by name": {"the owner had no UID yet", func(c *cluster) {
			c.store("tail", child, claiming(traceA, 1, lifeline.Claim{Object: head.Hash()}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Copied from a cluster-scoped owner": {"the owner is in no namespace", func(c *cluster) {
			up := lifeline.Identity{Group: "example.com", Kind: "Head", Name: "head"}
			c.store("tail", child, claiming(traceA, 1, lifeline.Claim{Object: up.Hash()}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Copied from above the owner": {"controllers copy the context down", func(c *cluster) {
			up := lifeline.Identity{UID: "uid-top"}
			c.found("head", custom("Head"), owned("example.com", "Top", "top"), converged)
			c.store("tail", child, claiming(traceA, 1, lifeline.Claim{Object: up.Hash()}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Copied from another owner": {"the claim names no object above", func(c *cluster) {
			up := lifeline.Identity{UID: "uid-other"}
			c.store("tail", child, claiming(traceA, 1, lifeline.Claim{Object: up.Hash()}))
		}, "no cause ~stale aaaa"},
		"Without a generation": {"the kind has none", func(c *cluster) {
			c.store("head", custom("Head"), func(st *state) { st.Generation = 0 },
				claiming(traceA, 1, lifeline.Claim{Object: head.Hash(), Generation: 1}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Old claim": {"the change is older than an hour", func(c *cluster) {
			c.store("head", custom("Head"), claiming(traceA, 1, lifeline.Claim{Time: epoch.Add(-61 * time.Minute)}))
		}, "no cause ~stale aaaa"},
		"Recent claim": {"the change is not older than an hour", func(c *cluster) {
			c.store("head", custom("Head"), claiming(traceA, 1, lifeline.Claim{Time: epoch.Add(-59 * time.Minute)}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Unrelated": {"the open trace has no relation to the object", func(c *cluster) {
			open(c)
			c.store("loose", of("example.com", "Tail"), by("other"), carrying(traceA, 2))
		}, "no cause ~unverified aaaa"},
		"Same writer": {"the author of the first change continues in its trace", func(c *cluster) {
			open(c)
			c.store("loose", of("example.com", "Tail"), by("kubectl-create"), carrying(traceA, 2))
		}, "below span 2 of trace aaaa outside (annotation)"},
		"Named parent": {"the same span is the parent of a change in the trace", func(c *cluster) {
			open(c)
			c.store("loose", of("example.com", "Tail"), by("other"), carrying(traceA, 1))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Itself": {"the object is in the trace already", func(c *cluster) {
			open(c)
			c.store("head", by("other"), leaf("spec.size"), carrying(traceA, 2))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Ended": {"the trace was quiet for the settling time", func(c *cluster) {
			c.store("head", custom("Head"), carrying(traceA, 1), converged).begins().in(traceA)
			c.wait(time.Minute)
			c.store("loose", of("example.com", "Tail"), by("kubectl-create"), carrying(traceA, 2))
		}, "no cause ~stale aaaa"},
		"Handed out": {"the trace was handed out before", func(c *cluster) {
			c.handOut(traceA, epoch.Add(-time.Minute))
			c.store("head", custom("Head"), carrying(traceA, 1))
		}, "no cause ~stale aaaa"},
		"Handed out with it": {"the write is a part of that trace", func(c *cluster) {
			c.handOut(traceA, epoch.Add(-time.Minute), 101)
			c.store("head", custom("Head"), carrying(traceA, 1))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Before the end": {"the result is that from before the handover", func(c *cluster) {
			c.handOut(traceA, epoch)
			c.store("head", custom("Head"), carrying(traceA, 1))
		}, "no cause ~unverified aaaa"},
		"Replaced state of the owner": {"the trace is that of a superseded change", func(c *cluster) {
			open(c)
			c.store("head", by("kubectl-edit"), leaf("spec.size"), carrying(traceB, 3)).begins().in(traceB)
			c.store("tail", child, carrying(traceA, 2))
		}, "no cause ~superseded aaaa"},
		"Resumed": {"the open trace of the converged owner goes on", func(c *cluster) {
			c.store("head", custom("Head"), carrying(traceA, 1)).begins().in(traceA)
			c.store("head", converged).noted()
			c.store("tail", child, carrying(traceA, 2))
		}, "below head (annotation)"},
		"Resumed too late": {"the trace of the converged owner has ended", func(c *cluster) {
			c.store("head", custom("Head"), carrying(traceA, 1)).begins().in(traceA)
			c.store("head", converged).noted()
			c.wait(time.Minute)
			c.store("tail", child, carrying(traceA, 2))
		}, "no cause ~stale aaaa"},
		"Resumed in its trace": {"the converged owner carries no context", func(c *cluster) {
			c.store("head", custom("Head")).begins().in(traceA)
			c.store("head", converged).noted()
			c.store("tail", child, carrying(traceA, 2))
		}, "below head (annotation)"},
		"Resumed from before the start": {"the change of the owner is unknown", func(c *cluster) {
			c.found("head", custom("Head"), carrying(traceA, 1), converged)
			c.store("tail", child, carrying(traceA, 2))
		}, "no cause ~stale aaaa"},
		"Owner without a controller": {"nothing acts on the owner", func(c *cluster) {
			c.found("head", custom("Head"), carrying(traceA, 1), converged, func(st *state) { st.Reconciled = false })
			c.store("tail", child, carrying(traceA, 2))
		}, "below span 2 of trace aaaa outside (annotation)"},
		"Resumed after the handover": {"the write is a part of the trace", func(c *cluster) {
			c.handOut(traceA, epoch.Add(-time.Minute), 103)
			c.store("head", custom("Head"), carrying(traceA, 1)).begins().in(traceA)
			c.store("head", converged).noted()
			c.store("tail", child, carrying(traceA, 2))
		}, "below head (annotation)"},
		"Not resumed after the handover": {"the write is no part of the trace", func(c *cluster) {
			c.handOut(traceA, epoch.Add(time.Minute))
			c.store("head", custom("Head"), carrying(traceA, 1)).begins().in(traceA)
			c.store("head", converged).noted()
			c.store("tail", child, carrying(traceA, 2))
		}, "no cause ~stale aaaa"},
		"Replacement": {"the replacement of a lost object is healing", func(c *cluster) {
			c.store("head", custom("Head"), carrying(traceA, 1)).begins().in(traceA)
			c.store("tail", child).below("head")
			c.store("head", converged).noted()
			c.gone("tail").begins()
			c.store("tail-2", child, carrying(traceA, 2))
		}, "no cause ~stale aaaa"},
		"Another trace of the owner": {"only the trace of a superseded change is replaced", func(c *cluster) {
			open(c)
			c.store("head", by("kubectl-edit"), leaf("spec.size"), carrying(traceB, 3)).begins().in(traceB)
			c.store("tail", child, carrying("cccccccccccccccccccccccccccccccc", 2))
		}, "no cause ~annotation cccc"},
		"Healing by an operator": {"a trace of the controller heals the converged owner", func(c *cluster) {
			c.store("head", custom("Head")).begins()
			c.store("head", converged).noted()
			c.store("tail", child).below("head")
			c.wait(time.Minute)
			c.gone("tail").begins()
			c.store("tail-2", child, carrying(traceB, 2))
		}, "below span 2 of trace bbbb outside (annotation), heals tail ~owner head ~heals tail"},
		"Boundary of the end": {"the trace was quiet for the settling time", func(c *cluster) {
			c.handOut(traceA, epoch.Add(tick-change.DefaultSettle))
			c.store("head", custom("Head"), carrying(traceA, 1))
		}, "no cause ~stale aaaa"},
		"Forgotten": {"only forgotten changes refer to the trace", func(c *cluster) {
			c.old = []string{traceA}
			c.store("head", custom("Head"), carrying(traceA, 1))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Before the end, for an owner": {"the controller has separate traces", func(c *cluster) {
			open(c)
			c.handOut(traceB, epoch)
			c.outside(traceB)
			c.store("tail", child, carrying(traceB, 2))
		}, "no cause ~annotation bbbb"},
		"Before the end of a trace within": {"no separate trace is known", func(c *cluster) {
			open(c)
			c.handOut(traceB, epoch)
			c.store("tail", child, carrying(traceB, 2))
		}, "no cause ~unverified bbbb"},
		"Before the end, from outside": {"the object has no owner", func(c *cluster) {
			c.handOut(traceA, epoch)
			c.outside(traceA)
			c.store("head", custom("Head"), carrying(traceA, 1))
		}, "no cause ~unverified aaaa"},
		"Handed out with it, for an owner": {"the write is a part of that trace", func(c *cluster) {
			open(c)
			c.handOut(traceB, epoch, 102)
			c.outside(traceB)
			c.store("tail", child, carrying(traceB, 2))
		}, "below span 2 of trace bbbb outside (annotation) ~owner head"},
		"By a person for an owner": {"the controller did not write it", func(c *cluster) {
			open(c)
			c.store("tail", child).below("head")
			c.store("tail", by("kubectl-edit"), leaf("spec.size"), carrying(traceB, 2))
		}, "below span 2 of trace bbbb outside (annotation)"},
		"Update of a converged owner": {"the trace of the controller has a link to the owner", func(c *cluster) {
			c.store("head", custom("Head")).begins()
			c.store("head", converged).noted()
			c.store("tail", child).below("head")
			c.wait(time.Minute)
			c.store("tail", by("head-controller"), leaf("spec.size"), carrying(traceB, 2))
		}, "below span 2 of trace bbbb outside (annotation) ~owner head"},
		"Healing for an unknown owner": {"the owner had converged before the start", func(c *cluster) {
			c.found("head", custom("Head"), converged)
			c.found("tail", child)
			c.gone("tail").begins()
			c.store("tail-2", child, carrying(traceB, 2))
		}, "below span 2 of trace bbbb outside (annotation), heals tail ~heals tail"},
		"Open trace for an owner": {"the controller has separate traces", func(c *cluster) {
			open(c)
			c.store("loose", custom("Tail"), pending).begins().in(traceB)
			c.store("tail", child, carrying(traceB, 2))
		}, "no cause ~annotation bbbb"},
		"Command for an owner": {"the trace of a command has no relation to the owner", func(c *cluster) {
			open(c)
			c.run(traceB)
			c.store("tail", child, carrying(traceB, 2))
		}, "no cause ~unverified bbbb"},
		"Command": {"the trace of a command has no relation to the object", func(c *cluster) {
			c.run(traceB)
			c.store("head", custom("Head"), carrying(traceB, 2))
		}, "no cause ~unverified bbbb"},
		"Itself, for an owner": {"the own change of the object is open", func(c *cluster) {
			open(c)
			c.store("tail", child, pending).begins().in(traceB)
			c.store("tail", by("head-controller"), leaf("spec.size"), carrying(traceB, 2))
		}, "below span 1 of trace bbbb outside (annotation)"},
		"Itself, ended": {"the own change has ended, and its owner is open", func(c *cluster) {
			open(c)
			c.store("tail", child, pending).begins().in(traceB)
			c.store("tail", converged).noted()
			c.store("tail", by("head-controller"), leaf("spec.size"), carrying(traceB, 2))
		}, "no cause ~annotation bbbb"},
		"Itself, without an owner": {"the own change has ended, and its trace has not", func(c *cluster) {
			open(c)
			c.store("head", converged).noted()
			c.store("head", by("other"), leaf("spec.size"), carrying(traceA, 2))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Trace of the owner": {"the owner carries no context", func(c *cluster) {
			c.store("head", custom("Head"), pending).begins().in(traceA)
			c.store("tail", child, carrying(traceA, 2))
		}, "below head (annotation)"},
		"Context of the owner": {"the owner is in another trace than its context", func(c *cluster) {
			c.store("head", custom("Head"), carrying(traceA, 1), pending).begins()
			c.store("tail", child, carrying(traceA, 2))
		}, "below head (annotation) ~annotation aaaa"},
		"Admitted by its own controller": {"the write completes the object", func(c *cluster) {
			c.store("head", custom("Head"), pending).begins()
			c.store("head", by("head-controller"), leaf("spec.port"), bySubresource("head-controller", "status"),
				admitted(traceB, 1, lifeline.BasisNone))
		}, "no cause ~annotation bbbb"},
		"By its own controller": {"the context is not from admission", func(c *cluster) {
			c.store("head", custom("Head"), pending).begins()
			c.store("head", by("head-controller"), leaf("spec.port"), bySubresource("head-controller", "status"),
				claiming(traceB, 1, lifeline.Claim{Object: head.Hash(), Admitted: lifeline.BasisNone}))
		}, "below span 1 of trace bbbb outside (annotation)"},
		"Copied from admission": {"admission gave the context to the owner", func(c *cluster) {
			c.store("tail", child, func(st *state) {
				up := state{Ref: st.Ref}
				up.Kind.Kind, up.Name = "Head", "head"
				admitted(traceA, 5, lifeline.BasisRequest)(&up)
				st.TraceParent, st.TraceState = up.TraceParent, up.TraceState
			})
		}, "below its span of trace aaaa outside (annotation)"},
		"Forged owner": {"the basis is not from admission", func(c *cluster) {
			c.store("head", custom("Head"), claiming(traceA, 1,
				lifeline.Claim{Object: head.Hash(), Admitted: lifeline.BasisOwner}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Forged request": {"the basis is not from admission", func(c *cluster) {
			c.store("head", custom("Head"), claiming(traceA, 1,
				lifeline.Claim{Object: head.Hash(), Admitted: lifeline.BasisRequest}))
		}, "below span 1 of trace aaaa outside (annotation)"},
		"Admitted": {"admission began the trace", func(c *cluster) {
			c.store("head", custom("Head"), admitted(traceA, 1, lifeline.BasisNone))
		}, "trace aaaa as admitted"},
		"Admitted request": {"admission found the context of the request", func(c *cluster) {
			c.store("head", custom("Head"), admitted(traceA, 5, lifeline.BasisRequest))
		}, "below span 5 of trace aaaa outside (request) as admitted"},
		"Admitted owner": {"the open owner confirms the trace", func(c *cluster) {
			open(c)
			c.store("tail", child, admitted(traceA, 1, lifeline.BasisOwner))
		}, "below head (owner) as admitted"},
		"Unconfirmed owner": {"no stored version confirms the trace", func(c *cluster) {
			c.store("tail", child, admitted(traceA, 1, lifeline.BasisOwner))
		}, "no cause ~unverified aaaa"},
	})
}

// TestStillOpen: a trace is open until it was quiet for the settling time, and while a reconciliation goes on.
func TestStillOpen(t *testing.T) {
	newest := func(c *cluster) *change.Lineage { return c.scene.Placed.Current("uid-head").Lineage }
	testAnswer(t, func(c *cluster, w *change.Write) string {
		return fmt.Sprint(StillOpen(c.scene, newest(c), w))
	}, map[string]ruleCase{
		"Under way": {"the change has not converged", func(c *cluster) {
			c.store("head", custom("Head"), pending).begins()
			c.wait(time.Minute)
			c.store("other", pod)
		}, "true"},
		"Just ended": {"the trace was quiet for less than the settling time", func(c *cluster) {
			c.store("head", custom("Head")).begins()
			c.store("head", converged).noted()
			c.wait(change.DefaultSettle - 2*tick)
			c.store("other", func(st *state) { pod(st); st.Created = st.Created.Add(-time.Hour) })
		}, "true"},
		"Ended": {"the trace was quiet for the settling time", func(c *cluster) {
			c.store("head", custom("Head")).begins()
			c.store("head", converged).noted()
			c.wait(time.Minute)
			c.store("other", pod)
		}, "false"},
		"In deletion": {"the object is still there", func(c *cluster) {
			c.store("head", custom("Head"), pending).begins()
			c.store("head", deleting).begins()
			c.wait(time.Minute)
			c.store("other", pod)
		}, "true"},
		"Removed later": {"the object was there at the time", func(c *cluster) {
			c.store("head", custom("Head"), pending).begins()
			c.store("head", deleting).begins()
			c.wait(time.Minute)
			c.store("other", pod)
			c.ask()
			c.gone("head")
		}, "true"},
		"Removed": {"the object is gone", func(c *cluster) {
			c.store("head", custom("Head"), pending).begins()
			c.store("head", deleting).begins()
			c.gone("head")
			c.wait(time.Minute)
			c.store("other", pod)
		}, "false"},
	})
	t.Run("Unknown", func(t *testing.T) {
		if StillOpen(&Scene{}, nil, nil) {
			t.Error("an unknown trace is open")
		}
	})
}
