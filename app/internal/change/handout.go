// SPDX-License-Identifier: Apache-2.0

package change

// HandOut marks the writes and Events of the trace as handed out.
func (l *Lineage) HandOut() {
	for _, r := range l.Reconciliations {
		r.HandOut()
	}
}

// HandedOut returns the mark of a stored write for handing out its trace. It is nil if only the request
// was observed.
func (w *Write) HandedOut() *bool {
	switch {
	case w.Version != nil:
		return &w.Version.HandedOut
	case w.Timeline.Removal != nil && w.RV == w.Timeline.Removal.RV:
		return &w.Timeline.Removal.HandedOut
	}
	return nil
}

// HandOut marks the writes and Events of r as handed out.
func (r *Reconciliation) HandOut() {
	for _, list := range [][]*Write{r.Writes, r.Notes} {
		for _, w := range list {
			if mark := w.HandedOut(); mark != nil {
				*mark = true
			}
		}
	}
	for _, ev := range r.Timeline.Events {
		if r.Has(ev) {
			ev.HandedOut = true
		}
	}
}
