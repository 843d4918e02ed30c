// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// byImage and byTemplate are the reasons that a Pod template leads to: its image, or any part of it.
var (
	byImage = []reason.Category{
		reason.ImagePull, reason.ImageNotFound, reason.ImageUnauthorized, reason.ImageInvalid, reason.ImageNeverPulled,
		reason.InvalidCommand,
	}
	byTemplate = []reason.Category{
		reason.CrashLoop, reason.OutOfMemory, reason.InitFailed, reason.ReadinessProbe, reason.LivenessProbe,
		reason.StartupProbe, reason.ContainerNotStarted, reason.ConfigMapMissing, reason.SecretMissing,
		reason.KeyMissing, reason.RuntimeClassMissing, reason.ProgressDeadline,
	}
)

// template is the field whose changes are revisions of a workload.
const template = "spec.template"

// Revised returns the workload whose earlier revisions may have led to the reason, and whether there is one. The
// change of the answer may be a scaling of a revision that was broken before.
func (a *Answer) Revised() (object.Ref, bool) {
	of, category := a.Cause.Object, reason.Category(a.Category)
	switch {
	case a.State != Stuck && a.State != State(span.Failed), a.Later, of.UID == "":
		return of, false
	case a.Cause.Verb == "create", a.Cause.Verb == "delete":
		return of, false
	case !kind.Deployment.Is(of.Kind) && !kind.StatefulSet.Is(of.Kind) && !kind.DaemonSet.Is(of.Kind):
		return of, false
	case slices.Contains(byImage, category):
		return of, !changesImage(a.Cause.Fields)
	}
	return of, slices.Contains(byTemplate, category)
}

// Earlier names the change of t as the cause, if t is the trace of an earlier revision of the workload with the same
// reason. The traces come newest first. It reports whether a still earlier one may count: the first bad revision
// is the cause.
func (a *Answer) Earlier(t *span.Trace, now time.Time) bool {
	own, root := Reconciliation(t, object.Ref{UID: a.Cause.Object.UID}), t.Root()
	if own == nil || root == nil {
		return true
	}
	if own.Outcome == span.Converged || own.Outcome == span.Deleted || !a.sameReason(t, root) {
		return false
	}
	fields, edits := insight.List(own, span.KeyFields), insight.List(own, span.KeyEdits)
	created := len(edits) == 0
	if !created && !slices.ContainsFunc(fields, func(f string) bool { return under(f, template) }) {
		return true // another scaling
	}
	sum := store.Summarize(t, now)
	a.Cause, a.Start = CauseOf(&sum), own.Start.Time
	a.Cause.Fields, a.Cause.Edits = fields, edits
	return !created && !(slices.Contains(byImage, reason.Category(a.Category)) && changesImage(fields))
}

// sameReason reports whether the change of t had the reason of the answer, or a Pod with a failed step before it was
// replaced.
func (a *Answer) sameReason(t *span.Trace, root *span.Span) bool {
	if insight.Attribute(root, span.KeyReason) == a.Category {
		return true
	}
	return slices.ContainsFunc(t.Spans, func(s *span.Span) bool {
		return s.Origin == nil && s.IsPodPhase() && s.Status == span.StatusError
	})
}

// changesImage reports whether one of the fields is an image.
func changesImage(fields []string) bool {
	return slices.ContainsFunc(fields, func(f string) bool {
		return strings.HasPrefix(f, template) && strings.HasSuffix(f, ".image")
	})
}
