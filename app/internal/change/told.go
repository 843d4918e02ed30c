// SPDX-License-Identifier: Apache-2.0

package change

// Tell marks the writes and Events of the trace as handed out.
func (l *Lineage) Tell() {
	for _, r := range l.Reconciliations {
		r.Tell()
	}
}

// Told returns the mark of a stored write for handing out its trace. It is nil if only the request
// was observed.
func (w *Write) Told() *bool {
	switch {
	case w.Version != nil:
		return &w.Version.Told
	case w.Timeline.Removal != nil && w.RV == w.Timeline.Removal.RV:
		return &w.Timeline.Removal.Told
	}
	return nil
}

// Tell marks the writes and Events of r as handed out.
func (r *Reconciliation) Tell() {
	for _, list := range [][]*Write{r.Writes, r.Notes} {
		for _, w := range list {
			if told := w.Told(); told != nil {
				*told = true
			}
		}
	}
	for _, ev := range r.Timeline.Events {
		if r.Has(ev) {
			ev.Told = true
		}
	}
}
