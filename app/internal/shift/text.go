// SPDX-License-Identifier: Apache-2.0

package shift

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// Title is the shift in one line, without a full stop: "Deployment shop/web: pull of its Pods 1.2s → 4.8s (4.0×)".
// Objects in namespace are named without theirs.
func (s *Shift) Title(namespace string) string {
	return s.Of(namespace) + " " + s.lengths()
}

// Of names the series: "Deployment shop/web: pull of its Pods".
func (s *Shift) Of(namespace string) string {
	after := ""
	if s.Verb != "" && s.Verb != "create" {
		after = " (" + s.Verb + ")"
	}
	if s.Attribute != nil {
		return fmt.Sprintf("%s: %s of %ss%s", s.Attribute, s.Phase, s.Kind, after)
	}
	kind, name, is := strings.Cut(s.Workload, "/")
	switch {
	case is:
		return fmt.Sprintf("%s %s: %s", kind, within(s.Namespace, name, namespace), s.part())
	case s.Namespace != "" && s.Namespace != namespace:
		return fmt.Sprintf("%ss in %s: %s%s", s.Kind, s.Namespace, s.Phase, after)
	}
	return fmt.Sprintf("%ss: %s%s", s.Kind, s.Phase, after)
}

// part is the phase of a workload: "pull of its Pods".
func (s *Shift) part() string {
	text := s.Phase
	if kind, _, _ := strings.Cut(s.Workload, "/"); kind != s.Kind {
		text += " of its " + s.Kind + "s"
	}
	if s.Verb != "" && s.Verb != "create" {
		text += " (" + s.Verb + ")"
	}
	return text
}

func within(of, name, namespace string) string {
	if of == "" || of == namespace {
		return name
	}
	return of + "/" + name
}

func (s *Shift) lengths() string {
	text := length(s.Before.Median) + " → " + length(s.After.Median)
	if s.Ratio > 0 {
		text += fmt.Sprintf(" (%s)", Times(s.Ratio))
	}
	return text
}

// Times formats a ratio: 4.0×, 12×.
func Times(ratio float64) string {
	if ratio >= 9.95 {
		return fmt.Sprintf("%.0f×", ratio)
	}
	if ratio < 0.095 {
		return fmt.Sprintf("%.2f×", ratio)
	}
	return fmt.Sprintf("%.1f×", ratio)
}

// Evidence has the difference, its interval and the sizes: "+3.6s (95 %: +3.1s to +4.2s); medians of 41 samples before
// and 18 after".
func (s *Shift) Evidence() string {
	return fmt.Sprintf("%s (95 %%: %s to %s); medians of %s before and %d after", Signed(s.Effect), Signed(s.Low),
		Signed(s.High), counted(s.Before.Count, "sample"), s.After.Count)
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Signed formats a difference: +3.6s, -12ms.
func Signed(d timestamp.Seconds) string {
	if d < 0 {
		return "-" + length(-d)
	}
	return "+" + length(d)
}

func length(d timestamp.Seconds) string { return render.Duration(time.Duration(d)) }

// Cause says what the shift began with: a change, factors, or nothing. It is one sentence or more.
func (s *Shift) Cause(namespace string) string {
	var out []string
	if s.Drift {
		out = append(out, "It came slowly: no single change began it.")
	}
	if s.Change != nil {
		out = append(out, "It began with "+Change(s.Change, namespace)+".")
	}
	for i, f := range s.Factors[:min(len(s.Factors), maxFactors)] {
		if s.Attribute == nil || len(f.Values) != 1 || f.Values[0] != *s.Attribute {
			out = append(out, f.text(i > 0))
		}
	}
	if s.Change == nil && len(s.Factors) == 0 && s.Attribute == nil {
		out = append(out, "No cause found.")
	}
	return strings.Join(out, " ")
}

// maxFactors and maxValues bound the factors and their values in a sentence.
const maxFactors, maxValues = 3, 5

// text is a sentence about the factor: "It goes with node node-3 or zone b, which cannot be told apart (92 % of it; 12
// objects with, 80 without)."
func (f *Factor) text(further bool) string {
	names := make([]string, 0, maxValues)
	for _, v := range f.Values[:min(len(f.Values), maxValues)] {
		names = append(names, v.String())
	}
	if more := len(f.Values) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	text := "It goes with "
	if further {
		text = "Also with "
	}
	text += alternatives(names)
	if len(f.Values) > 1 {
		text += ", which cannot be told apart"
	}
	switch {
	case f.New && f.Later:
		text += ", new with it, and with later ones"
	case f.New:
		text += ", new with it"
	}
	return fmt.Sprintf(
		"%s (%.0f %% of it; %s with, %d without).",
		text,
		100*f.Share,
		counted(f.With, "object"),
		f.Without,
	)
}

// alternatives joins names: "a, b or c".
func alternatives(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return strings.Join(names, "")
}

// words are the attributes in words.
var words = map[string]string{
	sample.InstanceType: "machine type",
	sample.StorageClass: "storage class",
	sample.Kubelet:      "kubelet version",
	sample.Changed:      "change of",
	sample.NodePool:     "node pool",
	sample.Runtime:      "container runtime",
	sample.Scheduler:    "scheduler profile",
}

// Word returns an attribute in words.
func Word(attribute string) string {
	if word := words[attribute]; word != "" {
		return word
	}
	return strings.ReplaceAll(attribute, "_", " ")
}

// String returns the attribute in words and its value: "machine type m7i.large".
func (v Value) String() string { return Word(v.Attribute) + " " + v.Value }

// minPrefix is the number of digits of a trace ID, and maxEdits that of the edits in a sentence.
const minPrefix, maxEdits = 8, 2

// Change describes a change: "update Deployment shop/web, image web:1 → web:2, by alice, trace 4bf92f35".
func Change(c *problem.Cause, namespace string) string {
	var parts []string
	switch {
	case c.Command != "":
		parts = append(parts, c.Command)
	case c.Object != nil:
		parts = append(parts, strings.TrimSpace(c.Verb+" "+Named(c.Object, namespace)))
	}
	parts = append(parts, c.Edits[:min(len(c.Edits), maxEdits)]...)
	if more := len(c.Edits) - maxEdits; more > 0 {
		parts = append(parts, fmt.Sprintf("%d more fields", more))
	}
	if c.Who != "" {
		parts = append(parts, "by "+c.Who)
	}
	return strings.Join(append(parts, "trace "+c.TraceID[:min(len(c.TraceID), minPrefix)]), ", ")
}

// Named returns an object as "Deployment shop/web".
func Named(o *object.Ref, namespace string) string {
	return o.Kind.Kind + " " + within(o.Namespace, o.Name, namespace)
}

// Phases lists the other phases of the workload: "startup 3.4s → 7.1s (2.1×), total 4s → 7.6s (1.9×)". It is empty
// without any.
func (g *Group) Phases() string {
	var out []string
	for _, s := range g.Also {
		name := s.Phase
		if s.Kind != g.Lead.Kind || s.Verb != g.Lead.Verb {
			name = s.part()
		}
		out = append(out, name+" "+s.lengths())
	}
	return strings.Join(out, ", ")
}

// Nearby lists the shifts of other attributes at about the same time, at most that many by name. It is empty without
// any.
func (g *Group) Nearby(most int) string {
	var out []string
	for _, s := range g.Near[:min(len(g.Near), most)] {
		out = append(out, s.Of("")+" "+s.lengths())
	}
	if more := len(g.Near) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, "; ")
}

// Elsewhere lists the other workloads of the group, at most that many by name. It is empty without any.
func (g *Group) Elsewhere(namespace string, most int) string {
	if len(g.Others) == 0 {
		return ""
	}
	var out []string
	for _, s := range g.Others[:min(len(g.Others), most)] {
		out = append(out, s.Title(namespace))
	}
	if more := len(g.Others) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("%d more", more))
	}
	return strings.Join(out, "; ")
}
