// SPDX-License-Identifier: Apache-2.0

package normalize

import "testing"

// TestPool: the pool of a Node is that of the first label of a provider.
func TestPool(t *testing.T) {
	for name, test := range map[string]struct {
		labels fields
		want   string
	}{
		"none":    {fields{"pool": "a"}, ""},
		"Azure":   {fields{"kubernetes.azure.com/agentpool": "system"}, "system"},
		"several": {fields{"eks.amazonaws.com/nodegroup": "group", "karpenter.sh/nodepool": "spot"}, "spot"},
		"empty":   {fields{"karpenter.sh/nodepool": "", "cloud.google.com/gke-nodepool": "main"}, "main"},
	} {
		if got := node(fields{"metadata": fields{"labels": test.labels}}).Pool; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
