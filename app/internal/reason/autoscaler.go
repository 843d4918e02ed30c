// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// autoscaler is the reason of a HorizontalPodAutoscaler that does not scale.
func autoscaler(v *history.Version) Reason {
	if !kind.HorizontalPodAutoscaler.Is(v.Kind) {
		return Reason{}
	}
	if c := refused(v, "AbleToScale"); c != nil {
		return about(ScaleTarget, "cannot scale", c)
	}
	if c := refused(v, "ScalingActive"); c != nil && c.Reason != "ScalingDisabled" {
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
