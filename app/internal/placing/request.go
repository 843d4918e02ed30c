// SPDX-License-Identifier: Apache-2.0

package placing

import (
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// placeFailed places the failed requests. They stored nothing. Without a command, none of them has a trace.
func (p *Placing) placeFailed(runs bool) {
	for _, w := range p.known.Refused() {
		if !runs {
			break
		}
		if l := p.placed.RunLine(w); l != nil {
			l.Loose = append(l.Loose, w)
			l.Latest = history.Later(l.Latest, w.End)
		}
	}
	for t := range p.members {
		for _, w := range t.Requests() {
			if l := p.placed.RunLine(w); l != nil && w.Failed() {
				l.Loose = append(l.Loose, w)
				l.Latest = history.Later(l.Latest, w.End)
			}
		}
	}
}

// placeRequest gives a write with an observed request a separate span, in the trace of the request.
// It returns false for a request without a trace.
func (p *Placing) placeRequest(w *change.Write) bool {
	l := p.placed.RunLine(w.Request)
	if l == nil {
		return false
	}
	w.Fate = change.Traced
	l.Loose = append(l.Loose, w.Request)
	l.Latest = history.Later(l.Latest, w.Request.End)
	return true
}
