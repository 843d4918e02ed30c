// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kubeschedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
)

func policy(name string, p v1alpha1.Profile) v1alpha1.SchedulingPolicy {
	out := v1alpha1.SchedulingPolicy{Spec: v1alpha1.SchedulingPolicySpec{Profile: p}}
	out.Name = name
	return out
}

// packed differs from the default in each property.
var packed = v1alpha1.Profile{
	Strategy:        v1alpha1.MostAllocated,
	Weights:         []v1alpha1.Weight{{Plugin: fit, Weight: 5}, {Plugin: "ImageLocality", Weight: 7}},
	DisabledFilters: []string{"TaintToleration"},
	DisabledScores:  []string{"PodTopologySpread", "ImageLocality"},
}

func TestRender(t *testing.T) {
	spread := policy("spread", v1alpha1.Profile{})
	text, err := Render([]v1alpha1.SchedulingPolicy{spread, policy("pack", packed)}, "/etc/kubeconfig")
	if err != nil {
		t.Fatal(err)
	}
	var got kubeschedulerv1.KubeSchedulerConfiguration
	if err := yaml.UnmarshalStrict([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if got.ClientConnection.Kubeconfig != "/etc/kubeconfig" || *got.LeaderElection.LeaderElect {
		t.Errorf("kubeconfig and leader election:\n%s", text)
	}
	if len(got.Profiles) != 2 || *got.Profiles[0].SchedulerName != "pack" ||
		*got.Profiles[1].SchedulerName != "spread" {
		t.Fatalf("want the profiles pack and spread:\n%s", text)
	}
	p := got.Profiles[0]
	weighted := func(plugin string, weight int32) kubeschedulerv1.Plugin {
		return kubeschedulerv1.Plugin{Name: plugin, Weight: &weight}
	}
	want := kubeschedulerv1.PluginSet{
		Enabled: []kubeschedulerv1.Plugin{
			weighted("InterPodAffinity", 2), weighted("NodeAffinity", 2),
			weighted("NodeResourcesBalancedAllocation", 1), weighted(fit, 5), weighted("TaintToleration", 3),
		},
		Disabled: []kubeschedulerv1.Plugin{{Name: "ImageLocality"}, {Name: "PodTopologySpread"}},
	}
	if diff := cmp.Diff(want, p.Plugins.Score); diff != "" {
		t.Errorf("a disabled plugin must not be enabled by its weight: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]kubeschedulerv1.Plugin{{Name: "TaintToleration"}}, p.Plugins.Filter.Disabled); diff != "" {
		t.Errorf("filters: -want +got:\n%s", diff)
	}
	for i, want := range []string{
		`{"scoringStrategy":{"type":"MostAllocated"}}`, `{"scoringStrategy":{"type":"LeastAllocated"}}`,
	} {
		if diff := cmp.Diff(want, string(got.Profiles[i].PluginConfig[0].Args.Raw)); diff != "" {
			t.Errorf("arguments: -want +got:\n%s", diff)
		}
	}
	other, err := Render([]v1alpha1.SchedulingPolicy{policy("pack", packed), spread}, "/etc/kubeconfig")
	if err != nil || other != text {
		t.Errorf("the order of the policies changed the configuration: %v\n%s", err, cmp.Diff(text, other))
	}
}

func TestChanges(t *testing.T) {
	cases := map[string]struct {
		reason        string
		before, after v1alpha1.Profile
		want          []string
	}{
		"Same": {reason: "an order is no difference", before: packed, after: v1alpha1.Profile{
			Strategy:        packed.Strategy,
			Weights:         []v1alpha1.Weight{packed.Weights[1], packed.Weights[0]},
			DisabledFilters: packed.DisabledFilters,
			DisabledScores:  []string{"ImageLocality", "PodTopologySpread"},
		}},
		"Defaults": {
			reason: "a default is no difference",
			after: v1alpha1.Profile{
				Strategy: v1alpha1.LeastAllocated, Weights: []v1alpha1.Weight{{Plugin: "TaintToleration", Weight: 3}},
			},
		},
		"All": {
			reason: "each changed property has its words",
			after:  packed,
			want: []string{
				"Filter TaintToleration: disabled",
				"Score ImageLocality: disabled",
				"Score PodTopologySpread: disabled",
				"Score NodeResourcesFit: LeastAllocated → MostAllocated",
				"Score ImageLocality: weight 1 → 7",
				"Score NodeResourcesFit: weight 1 → 5",
			},
		},
		"Back": {
			reason: "the way back to the default",
			before: v1alpha1.Profile{
				DisabledScores: []string{fit},
				Weights:        []v1alpha1.Weight{{Plugin: fit, Weight: 2}},
			},
			want: []string{"Score NodeResourcesFit: enabled", "Score NodeResourcesFit: weight 2 → 1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Changes(tc.before, tc.after)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if same := Same(tc.before, tc.after); same != (tc.want == nil) {
				t.Errorf("%s: the profiles are the same: %t", tc.reason, same)
			}
			texts := [2]string{}
			for i, p := range []v1alpha1.Profile{tc.before, tc.after} {
				var err error
				if texts[i], err = Render([]v1alpha1.SchedulingPolicy{policy("pack", p)}, ""); err != nil {
					t.Fatal(err)
				}
			}
			if same := texts[0] == texts[1]; same != (tc.want == nil) {
				t.Errorf("%s: the texts are the same: %t", tc.reason, same)
			}
		})
	}
}

// TestSameOfDisabled: the weight of a disabled plugin has no effect, until the plugin is enabled.
func TestSameOfDisabled(t *testing.T) {
	other := packed
	other.Weights = []v1alpha1.Weight{{Plugin: fit, Weight: 5}}
	if !Same(packed, other) {
		t.Error("the weight of a disabled plugin makes a difference")
	}
}
