// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
)

// defaultWeights are those of Kubernetes' Score plugins.
var defaultWeights = map[string]int32{
	"ImageLocality":                   1,
	"InterPodAffinity":                2,
	"NodeAffinity":                    2,
	"NodeResourcesBalancedAllocation": 1,
	"NodeResourcesFit":                1,
	"PodTopologySpread":               2,
	"TaintToleration":                 3,
}

// Changes returns the difference of two profiles in words, one for each changed property of a
// plugin: "Filter TaintToleration: disabled", "Score NodeResourcesFit: weight 1 → 5". Filters come
// first, and then plugins in the order of their names. Nil means no difference.
func Changes(before, after v1alpha1.Profile) (out []string) {
	out = append(out, switched("Filter", before.DisabledFilters, after.DisabledFilters)...)
	out = append(out, switched("Score", before.DisabledScores, after.DisabledScores)...)
	if old, now := strategy(before), strategy(after); old != now {
		out = append(out, fmt.Sprintf("Score %s: %s → %s", fit, old, now))
	}
	old, now := weights(before), weights(after)
	for _, plugin := range slices.Sorted(maps.Keys(defaultWeights)) {
		if old[plugin] != now[plugin] {
			out = append(out, fmt.Sprintf("Score %s: weight %d → %d", plugin, old[plugin], now[plugin]))
		}
	}
	return out
}

// switched returns the plugins of an extension point that are disabled or enabled now.
func switched(point string, before, after []string) (out []string) {
	for _, plugin := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(before, after)))) {
		switch was, is := slices.Contains(before, plugin), slices.Contains(after, plugin); {
		case is && !was:
			out = append(out, point+" "+plugin+": disabled")
		case was && !is:
			out = append(out, point+" "+plugin+": enabled")
		}
	}
	return out
}

// weights returns the weight of each Score plugin. A disabled one keeps its weight.
func weights(p v1alpha1.Profile) map[string]int32 {
	out := maps.Clone(defaultWeights)
	for _, w := range p.Weights {
		out[w.Plugin] = w.Weight
	}
	return out
}
