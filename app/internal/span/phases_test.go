// SPDX-License-Identifier: Apache-2.0

package span

import "testing"

// TestPhases: names and numbers are unique, the phases of a Pod come first, and the vocabulary has all names of spans.
func TestPhases(t *testing.T) {
	names, numbers, spans := map[string]bool{}, map[byte]bool{}, map[string]bool{}
	vocabulary := map[string]bool{}
	for _, word := range Vocabulary() {
		vocabulary[word.Name] = true
	}
	others := false
	for _, p := range Phases() {
		if p.Name == "" || p.Meaning == "" || p.Number == 0 {
			t.Errorf("phase %q lacks a name, a meaning or a number", p.Span)
		}
		if names[p.Name] || numbers[p.Number] || spans[p.Span] {
			t.Errorf("phase %s has the name, the number or the spans of another one", p.Name)
		}
		if !vocabulary[p.Span] {
			t.Errorf("the vocabulary lacks %q, the spans of the phase %s", p.Span, p.Name)
		}
		if p.OfPod && others {
			t.Errorf("phase %s is one of a Pod, and follows one of another kind", p.Name)
		}
		names[p.Name], numbers[p.Number], spans[p.Span] = true, true, true
		others = others || !p.OfPod
	}
}
