// SPDX-License-Identifier: Apache-2.0

// Package configuration turns SchedulingPolicies into the configuration of one kube-scheduler, and
// describes the difference of two profiles.
package configuration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
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

// Same reports whether two profiles are one for the scheduler. Orders, defaults and the weights of disabled
// plugins make no difference.
func Same(a, b v1alpha1.Profile) bool {
	return strategy(a) == strategy(b) && equality.Semantic.DeepEqual(plugins(a), plugins(b))
}

func profile(name string, p v1alpha1.Profile) (kubeschedulerv1.KubeSchedulerProfile, error) {
	args, err := json.Marshal(kubeschedulerv1.NodeResourcesFitArgs{
		ScoringStrategy: &kubeschedulerv1.ScoringStrategy{Type: kubeschedulerv1.ScoringStrategyType(strategy(p))},
	})
	return kubeschedulerv1.KubeSchedulerProfile{
		SchedulerName: &name,
		Plugins:       plugins(p),
		PluginConfig:  []kubeschedulerv1.PluginConfig{{Name: fit, Args: runtime.RawExtension{Raw: args}}},
	}, err
}

// plugins returns the plugins of a profile. Default weights are in it, so that the same profile is the
// same text, and an unchanged scheduler is not replaced.
func plugins(p v1alpha1.Profile) *kubeschedulerv1.Plugins {
	out := &kubeschedulerv1.Plugins{}
	out.Filter.Disabled = named(p.DisabledFilters)
	out.Score.Disabled = named(p.DisabledScores)
	all := weights(p)
	for _, plugin := range slices.Sorted(maps.Keys(all)) {
		// The scheduler runs a plugin that is both enabled and disabled.
		if !slices.Contains(p.DisabledScores, plugin) {
			out.Score.Enabled = append(
				out.Score.Enabled, kubeschedulerv1.Plugin{Name: plugin, Weight: ptr.To(all[plugin])})
		}
	}
	return out
}

func named(all []string) (out []kubeschedulerv1.Plugin) {
	for _, name := range slices.Sorted(slices.Values(all)) {
		out = append(out, kubeschedulerv1.Plugin{Name: name})
	}
	return out
}

func strategy(p v1alpha1.Profile) v1alpha1.Strategy {
	if p.Strategy == "" {
		return v1alpha1.LeastAllocated
	}
	return p.Strategy
}
