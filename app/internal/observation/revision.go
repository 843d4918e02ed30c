// SPDX-License-Identifier: Apache-2.0

package observation

// Revision is a revision of a set of objects, by a tool of continuous delivery: a revision of a Helm
// release, a sync of Argo CD, or the revision of a source of Flux.
type Revision struct {
	// ID is the name of the revision in its tool: "3" or "main@sha1:0f3c…".
	ID    string        `json:"id"`
	Phase RevisionPhase `json:"phase"`
	// By is the user who asked for the revision, by the tool's own statement. It may be empty.
	By string `json:"by,omitempty"`
	// Heals means that the tool applies the revision again, to correct a drift.
	Heals bool `json:"heals,omitempty"`
}

// RevisionPhase is the state of a revision.
type RevisionPhase string

// The phases of revisions.
const (
	// RevisionPublished is a revision that other objects may apply.
	RevisionPublished RevisionPhase = "published"
	// RevisionPending is a revision that is being applied.
	RevisionPending RevisionPhase = "pending"
	// RevisionApplied is a revision that has been applied.
	RevisionApplied RevisionPhase = "applied"
	// RevisionFailed is a revision that could not be applied.
	RevisionFailed RevisionPhase = "failed"
	// RevisionRemoved is a revision whose objects are being removed.
	RevisionRemoved RevisionPhase = "removed"
)
