// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/lab/internal/build"
)

// versionsEnv selects the versions of TestOlderVersions: minor versions separated by commas, or
// "all".
const versionsEnv = "LIFELINE_LAB_VERSIONS"

// TestOlderVersions brings a Deployment up on each Kubernetes but the newest,
// which is what all other tests run on.
func TestOlderVersions(t *testing.T) {
	messages := []string{"Container created", "Container started"}
	asked := strings.Split(os.Getenv(versionsEnv), ",")
	for _, version := range Versions()[1:] {
		t.Run(version, func(t *testing.T) {
			opts := Options{Version: version, Nodes: NodesKWOK}
			if !slices.Contains(asked, version) && !slices.Contains(asked, "all") {
				cached, err := build.Cached(t.Context(), version, opts.programs())
				if err != nil {
					t.Fatal(err)
				}
				if !cached {
					t.Skipf(
						"SKIP: Kubernetes %s is not in the lab's cache; %s=%s builds it, for minutes",
						version,
						versionsEnv,
						version,
					)
				}
			}
			c := start(t, opts)
			out := kubectl(t, c, "", "get", "--raw=/version") + kubectl(t, c, "", "version", "--client") +
				kubectl(t, c, "", "get", "nodes", "-o=jsonpath={.items[*].status.nodeInfo.kubeletVersion}")
			if strings.Count(out, c.Release()) != 3 || !strings.HasPrefix(c.Release(), "v"+version+".") {
				t.Errorf(
					"versions of the API server, kubectl and the node: got\n%s\nwant %s for each",
					out,
					c.Release(),
				)
			}

			apply(t, c, deployment("web", 2, "nginx:1", nil))
			kubectl(t, c, "", "rollout", "status", "deployment/web", "--timeout=4m")
			name := kubectl(t, c, "", "get", "pods", "-o=jsonpath={.items[0].metadata.name}")
			var got []string
			for _, e := range kubeletEvents(t, c, name) {
				if e.Reason == "Created" || e.Reason == "Started" {
					got = append(got, e.Message)
				}
			}
			if diff := gocmp.Diff(messages, got); diff != "" {
				t.Errorf("the kubelet's messages: -want +got:\n%s", diff)
			}
			kubectl(t, c, "", "delete", "deployment/web", "--cascade=foreground", "--timeout=4m")
			if err := c.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
