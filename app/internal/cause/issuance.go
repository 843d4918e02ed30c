// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byIssuance is rule C4 for cert-manager. The Secret of a Certificate belongs to the change of the
// Certificate: it has no owner, but names it. An issuance because the Secret is gone heals its loss.
func (f *Finder) byIssuance(w *change.Write) (Cause, bool, []span.Link) {
	if lost := f.lostSecret(w); lost != nil {
		c := Cause{Line: f.newLine(w), Heals: lost}
		if r := f.lastBefore(w, lost); r != nil && r.Verb == history.Deleted {
			c.Links = []span.Link{r.Link("heals")}
		}
		return c, true, nil
	}
	if !f.byCertManager(w) {
		return Cause{}, false, nil
	}
	for _, t := range f.Named(certificateOf(w)) {
		if r := f.openFor(w, t); r != nil {
			return Cause{Line: r.Lineage, Parent: r, Evidence: span.ByRelation}, true, nil
		}
		if r := f.lastBefore(w, t); r != nil {
			return Cause{}, false, []span.Link{r.Link(linkDeclared)}
		}
	}
	return Cause{}, false, nil
}

// certificateOf returns the name of the Certificate of w's object, a Secret; the zero name for another
// object.
func certificateOf(w *change.Write) object.Name {
	to, _ := change.Related(w.Timeline, object.Issued)
	return to
}

// byCertManager reports whether a controller of cert-manager wrote w, the Secret of a Certificate.
func (f *Finder) byCertManager(w *change.Write) bool {
	return w.Verb != history.Deleted && certificateOf(w) != object.Name{} && f.byComponent(w) &&
		kind.IsCertManager(w.Manager)
}

// lostSecret returns the Secret that is gone, if w begins an issuance for that reason; else nil.
func (f *Finder) lostSecret(w *change.Write) *change.Timeline {
	if !kind.Certificate.Is(w.Timeline.Ref.Kind) || w.Revision() == "" || !f.byComponent(w) {
		return nil
	}
	if c := w.Version.Condition("Issuing"); c == nil || c.Reason != "DoesNotExist" {
		return nil
	}
	var lost *change.Timeline
	for _, r := range w.Version.Relations {
		if r.Type != object.Issues {
			continue
		}
		for _, t := range f.Named(r.To) {
			if t.Removal != nil && t.Removal.RV < w.RV && (lost == nil || lost.Removal.RV < t.Removal.RV) {
				lost = t
			}
		}
	}
	return lost
}

// issues reports whether cert-manager wrote w, and no later version of the Certificate was observed.
func (f *Finder) issues(w *change.Write) bool {
	return f.byCertManager(w) && !f.after(w, f.Named(certificateOf(w)))
}
