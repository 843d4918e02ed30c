// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// maxSteps bounds the steps of an object. `lifeline trace` has all.
const maxSteps = 60

// stepsOf returns the steps of a change, one a line. Two spaces stand before the steps of a step.
func stepsOf(nodes []api.TreeNode, asOf time.Time) []string {
	var out []string
	left := 0
	var walk func(nodes []api.TreeNode, depth int, above *object.Ref)
	walk = func(nodes []api.TreeNode, depth int, above *object.Ref) {
		for i := range nodes {
			n := &nodes[i]
			if len(out) == maxSteps {
				left += n.Spans
				continue
			}
			out = append(out, strings.Repeat("  ", depth)+stepOf(n, above, asOf))
			of := above
			if n.Span != nil && n.Span.Object != nil {
				of = n.Span.Object
			}
			walk(n.Children, depth+1, of)
		}
	}
	walk(nodes, 0, nil)
	if left > 0 {
		out = append(out, fmt.Sprintf("and %d more: lifeline trace shows all", left))
	}
	return out
}

// stepOf is the line of a step: its name, its object unless that of the step above, its component, how long it took,
// and how it is.
func stepOf(n *api.TreeNode, above *object.Ref, asOf time.Time) string {
	if g := n.Group; g != nil {
		text := fmt.Sprintf("%s ×%d, %s to %s", shown(g.Label), g.Count, lengthOf(time.Duration(g.Min)),
			lengthOf(time.Duration(g.Max)))
		return text + remark(string(g.Outcome), g.Reason)
	}
	s := n.Span
	if s == nil {
		return "…"
	}
	text := shown(s.Label)
	if s.Object != nil && (above == nil || *above != *s.Object) {
		text += " " + shown(s.Object.Name)
	}
	if s.Service != "" {
		text += " (" + shown(s.Service) + ")"
	}
	if s.End == nil {
		return text + ", " + lengthOf(asOf.Sub(s.Start)) + " so far" + remark("", s.Message)
	}
	return text + ", " + lengthOf(s.End.Sub(s.Start)) + remark(string(s.Outcome), s.Message)
}

func remark(outcome, message string) string {
	switch {
	case outcome != "" && message != "":
		return ", " + outcome + ": " + shown(message)
	case outcome != "":
		return ", " + outcome
	case message != "":
		return ": " + shown(message)
	}
	return ""
}
