// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// autoscaler is the reason of a HorizontalPodAutoscaler that does not scale.
func autoscaler(v *history.Version) Reason {
	if !kind.HorizontalPodAutoscaler.Is(v.Kind) {
		return Reason{}
	}
	if c := refused(v, "AbleToScale"); c != nil {
		return about(ScaleTarget, "cannot scale", c)
	}
	switch c := refused(v, "ScalingActive"); {
	case c != nil && c.Reason == "ScalingDisabled":
		return scaleOff(v, c)
	case c != nil:
		return about(ScaleMetric, "cannot read a metric", c)
	}
	if c := v.Condition("ScalingLimited"); c != nil && c.Status == "True" && c.Reason == "TooManyReplicas" {
		r := Reason{
			Category: ScaleLimited, Text: "has reached its maximum", For: "a higher maximum", Since: c.Since,
		}
		if l := v.Field("spec.maxReplicas"); l != nil && l.Shown != "" {
			r.Text += " of " + l.Shown + " replicas"
		}
		return r
	}
	return Reason{}
}

// ByPods reports whether an autoscaler lacks a metric because the Pods of its target do not work.
func ByPods(r Reason) bool {
	return r.Category == ScaleMetric && has(r.Text, "might be unready", "no pods returned", "no metrics returned")
}

// scaleOff is the note about an autoscaler whose target is scaled to 0.
func scaleOff(v *history.Version, c *observation.Condition) Reason {
	r := Reason{
		Category: ScaleOff, Note: true, For: "a replica of its target", Text: "is off: its target is scaled to 0",
		Shown: c.Since,
	}
	for _, rel := range v.Relations {
		if rel.Type == object.Target {
			r.Text = "is off: " + rel.To.Kind + " " + rel.To.Name + " is scaled to 0"
			r.Fields = []Field{{Of: refOf(rel.To), Path: replicas}}
		}
	}
	return r
}

// replicas is the field with the number of Pods of a workload.
const replicas = "spec.replicas"

// refOf returns an object of which only the name is known.
func refOf(n object.Name) object.Ref {
	return object.Ref{Kind: object.Kind{Group: n.Group, Kind: n.Kind}, Namespace: n.Namespace, Name: n.Name}
}

// budget is the reason of a PodDisruptionBudget that allows no eviction.
func budget(v *history.Version) Reason {
	if !kind.PodDisruptionBudget.Is(v.Kind) {
		return Reason{}
	}
	c := refused(v, "DisruptionAllowed")
	switch {
	case c == nil:
		return Reason{}
	case c.Reason == "InsufficientPods":
		return Reason{
			Category: DisruptionBudget, Text: "allows no eviction: too few of its Pods are healthy",
			For: "more healthy Pods", Since: c.Since,
		}
	}
	return about(DisruptionBudget, "allows no eviction", c)
}
