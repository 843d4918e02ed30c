// SPDX-License-Identifier: Apache-2.0

package api

import "time"

// traces answers about one trace. It reads whole traces in turns, and remembers their trees and documents.
type traces struct {
	cluster string
	clock   func() time.Time
	// turns has a token for each running one.
	turns     chan struct{}
	trees     lately[*arranged]
	documents lately[remembered]
}

func newTraces(cluster string, clock func() time.Time) *traces {
	return &traces{
		cluster: cluster, clock: clock, turns: make(chan struct{}, turns),
		trees: lately[*arranged]{max: maxTreeSpans}, documents: lately[remembered]{max: maxDocuments},
	}
}

// document answers with a trace.
func (t *traces) document(r *request) (any, error) {
	p := r.params
	format := p.choice("format", formats)
	if err := p.done(); err != nil {
		return nil, err
	}
	id, err := r.traceID()
	if err != nil {
		return nil, err
	}
	release, err := t.turn(r.ctx())
	if err != nil {
		return nil, err
	}
	defer release()
	e, err := r.access.Trace(r.ctx(), id)
	if err != nil {
		return nil, err
	}
	if format != "" && format != formatOTLP {
		return t.inFormat(r, e, format)
	}
	return t.documentOf(e, func() ([]byte, error) {
		return document(e, r.broken.marked(r.access, SummaryOf(e.Summary())), t.cluster)
	})
}
