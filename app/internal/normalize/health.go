// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/health"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// SetHealth replaces the health rules of the configuration. They apply to later objects.
func (n *Normalizer) SetHealth(rules *health.Rules) { n.judge.SetRules(rules) }

// judges reports whether package health judges the objects of a kind: without built-in rules, or with a rule
// of the configuration.
func (n *Normalizer) judges(of object.Kind) bool {
	if kind.BuiltIn(of.Group) {
		return false
	}
	k := kind.Of(of.Group, of.Kind)
	ruled := len(k.Goals) > 0 || k.State.Field != "" || kind.VolumeSnapshot.Is(of) || kind.IsApplication(of)
	return !ruled || n.judge.Declares(schema.GroupKind{Group: of.Group, Kind: of.Kind})
}

// judged sets the verdict on the object of s. A paused controller observes no generation, so the present
// one counts as observed.
func (n *Normalizer) judged(s *observation.State, obj fields, of *texts) (observation.Progress, string) {
	v := n.judge.Of(obj)
	s.JudgedBy = v.By
	text := said(&v, of)
	switch {
	case v.Held && v.Progress == observation.ProgressCurrent:
		if s.ObservedGeneration >= 0 {
			s.ObservedGeneration = max(s.ObservedGeneration, s.Generation)
		}
		text = observation.Held + text
	case v.Held:
		text = observation.Waits + text
	}
	return v.Progress, text
}

// said returns the text of a verdict: that of the object without quoted values, or the reason. A state that
// only repeats the verdict is no reason.
func said(v *health.Verdict, of *texts) string {
	text := v.Message
	if !v.Ours && (!isReason(text) || !of.harmless(text)) {
		text = of.clean(text)
	}
	switch {
	case text == message.Withheld:
		return message.WithReason(v.Reason, text)
	case text == "" && message.Reason(v.Reason) != message.Withheld && !strings.EqualFold(v.Reason, "failed"):
		return v.Reason
	}
	return text
}

// isReason reports whether a text is one CamelCase word, as a reason is: BlueGreenPause.
func isReason(text string) bool {
	return text != "" && message.Reason(text) == text && strings.ToLower(text[1:]) != text[1:]
}
