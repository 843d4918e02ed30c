// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// decode reads the document of one trace, and reopens its open spans.
func decode(doc []byte) (*Trace, error) {
	// Go's own JSON bounds how deep values are nested; OTLP's parser does not.
	var parts struct {
		Lifeline *api.Detail `json:"lifeline"`
	}
	if err := json.Unmarshal(doc, &parts); err != nil {
		return nil, fmt.Errorf("cannot read a trace: %w", err)
	}
	if parts.Lifeline == nil {
		return nil, errors.New(`cannot read a trace: the document has no member "lifeline"`)
	}
	t, err := span.FromJSON(doc)
	if err != nil {
		return nil, err
	}
	sum := &parts.Lifeline.Summary
	t.Outcome, t.Was, t.Reason = sum.Outcome, sum.Was, sum.Reason
	open := make(map[string]bool, len(parts.Lifeline.OpenSpans))
	for _, id := range parts.Lifeline.OpenSpans {
		open[id] = true
	}
	for _, s := range t.Spans {
		if open[s.ID.String()] { // undo span.EndOpen
			s.End, s.Outcome = span.Time{}, ""
		}
	}
	return &Trace{Detail: *parts.Lifeline, Trace: t}, nil
}

// traceID reads an ID of a server.
func traceID(text string) (trace.TraceID, error) {
	id, err := trace.TraceIDFromHex(text)
	if err != nil {
		return id, fmt.Errorf("%.80q is no trace ID: %w", text, err)
	}
	return id, nil
}
