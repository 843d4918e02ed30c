// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Names replaces what Kubernetes made up in the names of ReplicaSets and Pods:
// the ReplicaSets of web become web-A, web-B … in order of creation, their
// Pods web-A-*.
type Names struct{ replace map[string]string }

// Outline draws a trace for comparison: a line per reconciliation and write,
// with outcome, evidence and the reasons of links; phases as one line; equal
// siblings counted.
func (n Names) Outline(t *Trace) string {
	known := map[string]bool{}
	for _, s := range t.Spans {
		known[s.ID] = true
	}
	children := map[string][]*Span{}
	for _, s := range t.Spans {
		parent := s.Parent
		if !known[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], s)
	}
	return strings.Join(n.lines(children, "", 0), "\n") + "\n"
}

func (n Names) lines(children map[string][]*Span, parent string, depth int) []string {
	indent := strings.Repeat("  ", depth)
	var phases []string
	var blocks [][]string
	for _, s := range children[parent] {
		if isPhase(s) {
			phases = append(phases, s.Name)
			continue
		}
		block := append([]string{indent + n.line(s)}, n.lines(children, s.ID, depth+1)...)
		blocks = append(blocks, block)
	}
	var out []string
	if len(phases) > 0 {
		slices.Sort(phases)
		out = append(out, indent+"["+strings.Join(slices.Compact(phases), ", ")+"]")
	}
	slices.SortFunc(blocks, slices.Compare[[]string])
	for i := 0; i < len(blocks); {
		same := 1
		for i+same < len(blocks) && slices.Equal(blocks[i], blocks[i+same]) {
			same++
		}
		block := slices.Clone(blocks[i])
		if same > 1 {
			block[0] += fmt.Sprintf(" ×%d", same)
		}
		out = append(out, block...)
		i += same
	}
	return out
}

func isPhase(s *Span) bool {
	switch s.Name {
	case "schedule", "attach", "sandbox", "pull image", "init container", "start container", "run container",
		"readiness", "publish endpoint", "backoff", "retry pause", "terminate":
		return true
	}
	return false
}

func (n Names) line(s *Span) string {
	line := s.Name
	if o := s.Object(); o != "" {
		line += " " + n.Of(o)
	}
	if o := s.Outcome(); o != "" {
		line += " " + o
	}
	if e := s.Attributes["lifeline.evidence"]; e != "" {
		line += " (" + e + ")"
	}
	var links []string
	for _, l := range s.Links {
		links = append(links, "~"+l.Why)
	}
	slices.Sort(links)
	for _, l := range links {
		line += " " + l
	}
	if h := s.Attributes["lifeline.heals"]; h != "" {
		kind, name, _ := strings.Cut(h, " ")
		line += " heals " + kind + " " + n.Of(name)
	}
	return line
}

// Of returns the readable name.
func (n Names) Of(name string) string {
	if r, ok := n.replace[name]; ok {
		return r
	}
	return name
}

// With returns the names and one more.
func (n Names) With(name, readable string) Names {
	replace := maps.Clone(n.replace)
	if replace == nil {
		replace = map[string]string{}
	}
	replace[name] = readable
	return Names{replace: replace}
}
