// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// byLostSecret is rule C3 for cert-manager: an issuance because the Secret is gone heals its loss.
func byLostSecret(s *Scene, w *change.Write) (Cause, bool) {
	lost := lostSecret(s, w)
	if lost == nil {
		return Cause{}, false
	}
	c := Cause{Line: newLine(s, w), Heals: lost}
	if r := lastBefore(s, w, lost); r != nil && r.Verb == history.Deleted {
		c.Links = []span.Link{r.Link("heals")}
	}
	return c, true
}

// certificates returns the Certificate of w's object, a Secret: it has no owner, but names the Certificate.
func certificates(s *Scene, w *change.Write) []*change.Timeline {
	return s.Known.Named(certificateOf(w))
}

// certificateOf returns the name of the Certificate of w's object, a Secret; the zero name for another
// object.
func certificateOf(w *change.Write) object.Name {
	to, _ := change.Related(w.Timeline, object.Issued)
	return to
}

// byCertManager reports whether a controller of cert-manager wrote w, the Secret of a Certificate.
func byCertManager(s *Scene, w *change.Write) bool {
	return w.Verb != history.Deleted && certificateOf(w) != object.Name{} && byComponent(s, w) &&
		kind.IsCertManager(w.Manager)
}

// lostSecret returns the Secret that is gone, if w begins an issuance for that reason; else nil.
func lostSecret(s *Scene, w *change.Write) *change.Timeline {
	if !kind.Certificate.Is(w.Timeline.Ref.Kind) || w.Revision() == "" || !byComponent(s, w) {
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
		for _, t := range s.Known.Named(r.To) {
			if t.Removal != nil && t.Removal.RV < w.RV && (lost == nil || lost.Removal.RV < t.Removal.RV) {
				lost = t
			}
		}
	}
	return lost
}
