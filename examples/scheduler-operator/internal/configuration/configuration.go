// SPDX-License-Identifier: Apache-2.0

// Package configuration turns SchedulingPolicies into the configuration of one kube-scheduler, and
// describes the difference of two profiles.
package configuration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	kubeschedulerv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
)

// fit is the plugin with a strategy.
const fit = "NodeResourcesFit"

// Render returns a KubeSchedulerConfiguration in YAML with one profile for each policy. kubeconfig is
// the scheduler's; empty means that of its service account. The order of the policies has no effect.
func Render(policies []v1alpha1.SchedulingPolicy, kubeconfig string) (string, error) {
	c := kubeschedulerv1.KubeSchedulerConfiguration{}
	c.APIVersion, c.Kind = kubeschedulerv1.SchemeGroupVersion.String(), "KubeSchedulerConfiguration"
	c.ClientConnection.Kubeconfig = kubeconfig
	c.LeaderElection.LeaderElect = ptr.To(false) // the operator runs one scheduler
	for i := range policies {
		p, err := profile(policies[i].Name, policies[i].Spec.Profile)
		if err != nil {
			return "", fmt.Errorf("cannot make a profile of SchedulingPolicy %s: %w", policies[i].Name, err)
		}
		c.Profiles = append(c.Profiles, p)
	}
	slices.SortFunc(c.Profiles, func(a, b kubeschedulerv1.KubeSchedulerProfile) int {
		return strings.Compare(*a.SchedulerName, *b.SchedulerName)
	})
	text, err := yaml.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("cannot write the scheduler's configuration: %w", err)
	}
	return string(text), nil
}

func profile(name string, p v1alpha1.Profile) (kubeschedulerv1.KubeSchedulerProfile, error) {
	plugins := &kubeschedulerv1.Plugins{}
	plugins.Filter.Disabled = named(p.DisabledFilters)
	plugins.Score.Disabled = named(p.DisabledScores)
	for _, w := range sorted(p.Weights) {
		// The scheduler runs a plugin that is both enabled and disabled.
		if !slices.Contains(p.DisabledScores, w.Plugin) {
			plugins.Score.Enabled = append(
				plugins.Score.Enabled,
				kubeschedulerv1.Plugin{Name: w.Plugin, Weight: ptr.To(w.Weight)},
			)
		}
	}
	args, err := json.Marshal(kubeschedulerv1.NodeResourcesFitArgs{
		ScoringStrategy: &kubeschedulerv1.ScoringStrategy{Type: kubeschedulerv1.ScoringStrategyType(strategy(p))},
	})
	return kubeschedulerv1.KubeSchedulerProfile{
		SchedulerName: &name,
		Plugins:       plugins,
		PluginConfig:  []kubeschedulerv1.PluginConfig{{Name: fit, Args: runtime.RawExtension{Raw: args}}},
	}, err
}

func named(plugins []string) (out []kubeschedulerv1.Plugin) {
	for _, name := range slices.Sorted(slices.Values(plugins)) {
		out = append(out, kubeschedulerv1.Plugin{Name: name})
	}
	return out
}

func sorted(weights []v1alpha1.Weight) []v1alpha1.Weight {
	return slices.SortedFunc(slices.Values(weights), func(a, b v1alpha1.Weight) int {
		return strings.Compare(a.Plugin, b.Plugin)
	})
}

func strategy(p v1alpha1.Profile) v1alpha1.Strategy {
	if p.Strategy == "" {
		return v1alpha1.LeastAllocated
	}
	return p.Strategy
}
