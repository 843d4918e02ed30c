// SPDX-License-Identifier: Apache-2.0

package change

// HandOut marks the writes and Events of the trace as handed out.
func (l *Lineage) HandOut() {
	for _, r := range l.Reconciliations {
		r.HandOut()
	}
}

// HandedOut reports whether a trace with w was handed out. stored is false if only a request of
// lifeline run shows w: the trace of a run is handed out with all its requests.
func (w *Write) HandedOut() (handedOut, stored bool) {
	switch {
	case w.Version != nil:
		// The audit log may have shown it before.
		return w.Version.HandedOut || w.Timeline.Audits.handedOut(w.ObjectVersion()), true
	case w.Timeline.Removal != nil && w.RV == w.Timeline.Removal.RV:
		return w.Timeline.Removal.HandedOut, true
	case w.unobserved():
		return w.Timeline.Audits.handedOut(w.ObjectVersion()), true
	}
	return false, false
}

// unobserved reports whether only the audit log shows w.
func (w *Write) unobserved() bool {
	return w.Version == nil && w.Timeline.Audits != nil && w.Audit != nil && w.Audit.ResourceVersion > 0
}

// HandOut marks w as handed out.
func (w *Write) HandOut() {
	switch {
	case w.Version != nil:
		w.Version.HandedOut = true
	case w.Timeline.Removal != nil && w.RV == w.Timeline.Removal.RV:
		w.Timeline.Removal.HandedOut = true
	case w.unobserved() && !w.Timeline.Audits.handedOut(w.ObjectVersion()):
		w.Timeline.Audits.HandedOut = append(w.Timeline.Audits.HandedOut, w.ObjectVersion())
	}
}

// HandOut marks the writes and Events of r as handed out.
func (r *Reconciliation) HandOut() {
	for _, list := range [][]*Write{r.Writes, r.Notes} {
		for _, w := range list {
			w.HandOut()
		}
	}
	for _, ev := range r.Timeline.Events {
		if r.Has(ev) {
			ev.HandedOut = true
		}
	}
}
