// SPDX-License-Identifier: Apache-2.0

package question

import "github.com/kube-lifeline/lifeline/app/internal/span"

// Phase is a part of a lifecycle with a length of its own. Spans of one phase may overlap, such as
// the pulls of two images. The length counts common time once.
type Phase struct {
	// Name is the name in a question, after "phase.".
	Name string
	// Span is the name of the spans of the phase; empty if the phase has none of its own.
	Span    string
	Meaning string
}

// Phases returns the common phases: the startup of a Pod, and those with spans of their own (span.Phases).
func Phases() []Phase {
	out := []Phase{{"startup", "", "Pod created → Ready"}}
	for _, p := range span.Phases() {
		out = append(out, Phase{p.Name, p.Span, p.Meaning})
	}
	return out
}
