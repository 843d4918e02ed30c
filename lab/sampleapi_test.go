// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"strconv"
	"testing"
)

// TestSampleAPI checks that the aggregated API has separate resourceVersions.
func TestSampleAPI(t *testing.T) {
	slow(t)
	c := start(t, Options{Nodes: NodesNone, AddOns: []AddOn{SampleAPI}})
	kubectl(t, c, `apiVersion: wardle.example.com/v1alpha1
kind: Flunder
metadata: {name: apart}
`, "apply", "-f", "-")
	kubectl(t, c, "", "create", "configmap", "home")
	version := func(object string) int {
		out := kubectl(t, c, "", "get", object, "-o", "jsonpath={.metadata.resourceVersion}")
		n, err := strconv.Atoi(out)
		if err != nil {
			t.Fatalf("%s has resourceVersion %q", object, out)
		}
		return n
	}
	if apart, home := version("flunder/apart"), version("configmap/home"); apart >= home {
		t.Errorf("want a lower resourceVersion in the own storage, got %d, and %d in that of the cluster", apart, home)
	}
}
