// SPDX-License-Identifier: Apache-2.0

package health

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// condition is one condition of a status.
type condition struct {
	typ, status, reason, message string
	kind                         conditionKind
	// stale means that the condition is about an older generation.
	stale bool
}

// conditionKind is the meaning of a condition, by the name of its type.
type conditionKind int

const (
	// typeNone is for names without a known meaning.
	typeNone conditionKind = iota
	// typeGoal is for what the object has to reach: Ready.
	typeGoal
	// typePart is for what a part of the object has to reach: RoutesReady. It counts if the object has
	// no goal. So does Active, which may depend on the load.
	typePart
	// typeFinal is for a failure that the controller declares: Failed, NotReady.
	typeFinal
	// typeTrouble is for a state in which the controller goes on: Degraded.
	typeTrouble
	// typeOngoing is for work that has not ended: Reconciling.
	typeOngoing
	// typeHeld is for a pause.
	typeHeld
)

// The types of conditions with a meaning, apart from the goals in package kind.
var (
	finalTypes = []string{
		"NotReady", "Failed", "Failure", "Error", "Errored", "Stalled", "Invalid", "InvalidSpec", "Rejected",
		"Denied", "Aborted", "Unrecoverable",
	}
	troubleTypes = []string{"Degraded", "Unhealthy", "Unavailable", "NotAvailable", "Warning", "Blocked"}
	ongoingTypes = []string{
		"Progressing", "Reconciling", "Updating", "Upgrading", "RollingOut", "RollingUpdate", "Provisioning",
		"Creating", "Installing", "Deploying", "Initializing", "Issuing", "Migrating", "ScalingUp", "ScalingDown",
		"Remediating", "Resizing", "InProgress", "Pending",
	}
	heldTypes  = []string{"Paused", "Suspended", "ReconciliationPaused", "Hibernated"}
	partEnds   = []string{"Ready", "Available", "Healthy", "Synced", "Reconciled", "Succeeded"}
	moreGoals  = []string{"Completed", "Installed", "Deployed", "Admitted", "Finished", "Validated"}
	troubleEnd = []string{"Failed", "Failure", "Error", "Unavailable", "NotReady"}
)

// kindOfCondition returns the meaning of a type. A prefix with a domain does not count.
func kindOfCondition(typ string) conditionKind {
	if _, name, found := strings.Cut(typ, "/"); found {
		typ = name
	}
	ends := func(end string) bool { return strings.HasSuffix(typ, end) }
	switch {
	case kind.IsGoal(typ), slices.Contains(moreGoals, typ):
		return typeGoal
	case slices.Contains(finalTypes, typ):
		return typeFinal
	case slices.Contains(troubleTypes, typ), slices.ContainsFunc(troubleEnd, ends):
		return typeTrouble
	case slices.Contains(ongoingTypes, typ):
		return typeOngoing
	case slices.Contains(heldTypes, typ):
		return typeHeld
	case slices.ContainsFunc(partEnds, ends), typ == "Active":
		return typePart
	}
	return typeNone
}

// readConditions returns the conditions of the object, or of its relation to parents or ancestors.
func (s *subject) readConditions() []condition {
	var out []condition
	add := func(list []any) {
		for _, item := range list {
			m, _ := item.(fields)
			c := condition{
				typ: raw(m, "type"), status: raw(m, "status"), reason: raw(m, "reason"), message: raw(m, "message"),
			}
			if c.typ == "" {
				continue
			}
			observed := Observed(m)
			c.kind, c.stale = kindOfCondition(c.typ), observed >= 0 && observed < s.generation
			out = append(out, c)
		}
	}
	add(items(s.status, "conditions"))
	if len(out) > 0 {
		return out
	}
	for _, key := range []string{"parents", "ancestors"} {
		for _, item := range items(s.status, key) {
			m, _ := item.(fields)
			add(items(m, "conditions"))
		}
	}
	return out
}

// named is the verdict by names, and whether the names showed anything.
type named struct {
	Verdict
	shown bool
}

// byNames returns the verdict by the names of conditions and states. A failure that the conditions declare
// comes first, then one of a state, unless the conditions show that the goals are reached. An object that
// runs to its end reaches the goal Completed with a failure, too.
func byNames(s *subject) named {
	conditions, states := s.byConditions(), s.byStates()
	failed := states.shown && states.Progress == observation.ProgressFailed
	reached := conditions.Progress == observation.ProgressCurrent && !s.once
	if conditions.shown && (conditions.Progress == observation.ProgressFailed || reached || !failed) {
		return conditions
	}
	return states
}

// byConditions returns the verdict of the conditions: of a declared failure, a pause, a missing goal, ongoing
// work and a trouble, in this order.
func (s *subject) byConditions() named {
	goals := typeGoal
	if !slices.ContainsFunc(s.conditions, func(c condition) bool { return c.kind == typeGoal }) {
		goals = typePart
	}
	first := func(is func(*condition) bool) *condition {
		for i := range s.conditions {
			if is(&s.conditions[i]) {
				return &s.conditions[i]
			}
		}
		return nil
	}
	if c := first(declaredFailure); c != nil {
		return c.verdict(observation.ProgressFailed)
	}
	if c := first(func(c *condition) bool { return c.holds(typeHeld) }); c != nil {
		v := c.verdict(observation.ProgressInProgress)
		v.Held = true
		return v
	}
	if c := first(func(c *condition) bool { return c.kind == goals && (c.stale || c.status != "True") }); c != nil {
		v := c.verdict(observation.ProgressInProgress)
		trouble := first(func(c *condition) bool { return c.holds(typeTrouble) })
		if trouble != nil && c.message == "" {
			v = trouble.verdict(observation.ProgressInProgress)
		}
		return v
	}
	if c := first(func(c *condition) bool { return c.holds(typeOngoing) && !c.ended() }); c != nil {
		return c.verdict(observation.ProgressInProgress)
	}
	if c := first(func(c *condition) bool { return c.holds(typeTrouble) }); c != nil {
		return c.verdict(observation.ProgressInProgress)
	}
	c := first(func(c *condition) bool {
		return c.kind == goals || c.kind == typeFinal || c.kind == typeTrouble || c.kind == typeOngoing
	})
	if c == nil || s.once && c.kind != goals {
		return named{}
	}
	return named{Verdict{Progress: observation.ProgressCurrent, By: observation.JudgedByNames}, true}
}

func (c *condition) verdict(p observation.Progress) named {
	return named{Verdict{Progress: p, By: observation.JudgedByNames, Message: c.message, Reason: c.reason}, true}
}

func (c *condition) holds(kind conditionKind) bool {
	return c.kind == kind && !c.stale && c.status == "True"
}

// ended reports whether the reason of a condition of ongoing work says that the work has ended, such as
// NewReplicaSetAvailable of Progressing.
func (c *condition) ended() bool {
	return hasPart(c.reason, "Available", "Complete", "Completed", "Succeeded")
}

// declaredFailure reports whether the controller declares that the object has failed: by the type of the
// condition, or by the reason why it gave up.
func declaredFailure(c *condition) bool {
	switch {
	case c.stale:
		return false
	case c.kind == typeFinal && c.status == "True":
		return !hasPart(c.reason, "Creating", "Pending", "Progressing", "Reconciling", "Waiting", "Initializing")
	case c.status != "False":
		return false
	case c.typ == "Succeeded":
		return true
	case c.typ == "Progressing":
		return gaveUp(c.reason) || hasPart(c.reason, "Failed", "Error")
	}
	return c.kind == typeGoal && gaveUp(c.reason)
}

// gaveUp reports whether a reason means that the controller does not try again without a change.
func gaveUp(reason string) bool {
	return hasPart(reason, "Exceeded", "Aborted", "Invalid", "Unrecoverable", "Terminal", "Rejected", "Denied")
}

// hasPart reports whether a CamelCase word has one of the parts.
func hasPart(word string, parts ...string) bool {
	return slices.ContainsFunc(camelParts(word), func(p string) bool {
		return slices.ContainsFunc(parts, func(q string) bool { return strings.EqualFold(p, q) })
	})
}

// camelParts divides a word at its capital letters and at - and _.
func camelParts(word string) []string {
	var out []string
	start := 0
	for i := 1; i <= len(word); i++ {
		if i < len(word) && !begins(word, i) {
			continue
		}
		if part := strings.Trim(word[start:i], "-_"); part != "" {
			out = append(out, part)
		}
		start = i
	}
	return out
}

// begins reports whether a part of the word begins at i.
func begins(word string, i int) bool {
	upper := func(b byte) bool { return 'A' <= b && b <= 'Z' }
	return word[i] == '-' || word[i] == '_' ||
		upper(word[i]) && (!upper(word[i-1]) || i+1 < len(word) && 'a' <= word[i+1] && word[i+1] <= 'z')
}
