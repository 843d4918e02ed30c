// SPDX-License-Identifier: Apache-2.0

package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/reason"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// maxReasons is the number of a scheduler's reasons in a sentence.
const maxReasons = 4

// misfits has what nodes lack or have by the reasons of Kubernetes' plugins.
var misfits = map[string]string{
	"Insufficient cpu":                                           "lack CPU",
	"Too many pods":                                              "have no room for another Pod",
	"node(s) were unschedulable":                                 "are cordoned",
	"node(s) had untolerated taint(s)":                           "have an untolerated taint",
	"node(s) didn't match the requested node name":               "have another name",
	"node(s) didn't match Pod's node affinity/selector":          "do not match the node selector or affinity",
	"node(s) didn't have free ports for the requested pod ports": "have no free host port",
	"node(s) didn't match pod affinity rules":                    "do not match the Pod's affinity",
	"node(s) didn't match pod anti-affinity rules":               "do not match the Pod's anti-affinity",
	"node(s) didn't satisfy existing pods anti-affinity rules":   "do not match the anti-affinity of other Pods",
	"node(s) didn't match pod topology spread constraints":       "do not match the topology spread constraints",
}

// singular has the verbs of misfits for one node.
var singular = map[string]string{"lack": "lacks", "have": "has", "are": "is", "do": "does", "were": "was"}

// words says in words what the nodes lack or have: "lack memory".
func (r *Rejection) words() string {
	text := misfits[r.Reason]
	if resource, lacking := strings.CutPrefix(r.Reason, "Insufficient "); lacking && text == "" {
		text = "lack " + resource
	}
	switch {
	case r.Reason == "":
		text = "were left out"
	case text == "":
		return strings.TrimPrefix(r.Reason, "node(s) ")
	}
	verb, rest, _ := strings.Cut(text, " ")
	if one := singular[verb]; one != "" && r.Nodes == 1 {
		verb = one
	}
	return verb + " " + rest
}

// misfit says why no node fits: "no node of 100 fits: 60 lack memory (NodeResourcesFit), …".
func (a *Attempt) misfit() string {
	text := "no node fits"
	if a.Nodes > 0 {
		text = fmt.Sprintf("no node of %d fits", a.Nodes)
	}
	var parts []string
	for i := range a.Rejections[:min(len(a.Rejections), maxReasons)] {
		r := &a.Rejections[i]
		if r.Nodes == 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", r.Reason, r.Plugin))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d %s (%s)", r.Nodes, r.words(), r.Plugin))
	}
	text += ": " + strings.Join(parts, ", ")
	switch n := len(a.Rejections) - len(parts) + a.MoreRejections; {
	case n == 1:
		text += ", and 1 more reason"
	case n > 1:
		text += fmt.Sprintf(", and %d more reasons", n)
	}
	return text
}

// examples names a few nodes for each reason; "" if there are none.
func (a *Attempt) examples() string {
	var parts []string
	for i := range a.Rejections[:min(len(a.Rejections), maxReasons)] {
		if r := &a.Rejections[i]; len(r.Examples) > 0 {
			parts = append(parts, strings.Join(r.Examples, ", ")+" ("+r.words()+")")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "Examples: " + strings.Join(parts, "; ") + "."
}

// Text says why no node fits, with examples, or which node was chosen. It is bounded, and not escaped.
func (a *Attempt) Text() string {
	if a.Choice != nil {
		return span.Bound(a.Choice.text())
	}
	text := a.misfit()
	text = strings.ToUpper(text[:1]) + text[1:] + "."
	if more := a.examples(); more != "" {
		text += " " + more
	}
	return span.Bound(text)
}

// text is the sentence about nodes: the chosen one, or examples of the rejected ones. It is "" for nil.
func (a *Attempt) text() string {
	switch {
	case a == nil:
		return ""
	case a.Choice != nil:
		return a.Choice.text()
	}
	return a.examples()
}

// text says which node was chosen, and what made the difference to the second.
func (c *Choice) text() string {
	text := "The scheduler chose " + c.Node
	switch {
	case c.Second == "" && c.Feasible == 1 && c.Evaluated > 1:
		return fmt.Sprintf("%s, the only one of %d nodes that fits.", text, c.Evaluated)
	case c.Second == "":
		return text + "."
	case c.Equal > 0:
		return fmt.Sprintf("%s with score %d, equal to that of %s.", text, c.Score, others(c.Second, c.Equal))
	}
	text += fmt.Sprintf(" with score %d; second %s with %d", c.Score, c.Second, c.SecondScore)
	switch {
	case len(c.Plugins) == 0:
	case c.Plugins[0].Points >= c.Score-c.SecondScore:
		text += ": " + c.Plugins[0].Plugin + " made the difference"
	default:
		var parts []string
		for _, p := range c.Plugins {
			parts = append(parts, fmt.Sprintf("%s (+%d)", p.Plugin, p.Points))
		}
		text += ": " + enumerate(parts) + " made the difference"
	}
	return text + "."
}

// others names one of n nodes.
func others(node string, n int64) string {
	if n == 1 {
		return node
	}
	return fmt.Sprintf("%s and %d more", node, n-1)
}

// enumerate joins parts with commas, and the last one with "and".
func enumerate(parts []string) string {
	if n := len(parts); n > 1 {
		return strings.Join(parts[:n-1], ", ") + " and " + parts[n-1]
	}
	return strings.Join(parts, "")
}

// more is the end of a reason that several objects have.
var more = regexp.MustCompile(` \(and \d+ more\)$`)

// detailed returns the reason of a Pod without a node with the attempt's reasons in place of the
// message of its condition. Another reason stays as it is.
func (a *Attempt) detailed(text string) string {
	subject, own, found := strings.Cut(text, reason.NotScheduled)
	if !found || len(a.Rejections) == 0 {
		return text
	}
	out := strings.TrimSuffix(subject, " ") + more.FindString(text) + " " + reason.NotScheduled + a.misfit()
	if _, rollout, deadlock := strings.Cut(own, reason.Deadlock); deadlock {
		out += reason.Deadlock + more.ReplaceAllString(rollout, "")
	}
	return out
}

// fields are the fields of a Pod that a plugin looks at, in the words of edits.
func (r *Rejection) fields() []string {
	if resource, lacking := strings.CutPrefix(r.Reason, "Insufficient "); lacking {
		return []string{"requests." + resource, "limits." + resource}
	}
	return map[string][]string{
		"NodeAffinity": {"nodeSelector", "affinity"}, "TaintToleration": {"tolerations"},
		"NodePorts":         {"ports", "hostPort"},
		"PodTopologySpread": {"topologySpreadConstraints"}, "InterPodAffinity": {"affinity", "podAntiAffinity"},
	}[r.Plugin]
}

// relevantFirst moves the edits of fields that the scheduler's reasons are about to the front.
func (a *Attempt) relevantFirst(edits []string) []string {
	if a == nil {
		return edits
	}
	relevant := func(edit string) bool {
		return slices.ContainsFunc(a.Rejections, func(r Rejection) bool {
			return slices.ContainsFunc(r.fields(), func(field string) bool { return strings.Contains(edit, field) })
		})
	}
	var first, rest []string
	for _, edit := range edits {
		if relevant(edit) {
			first = append(first, edit)
		} else {
			rest = append(rest, edit)
		}
	}
	return append(first, rest...)
}
