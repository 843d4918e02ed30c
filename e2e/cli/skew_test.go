// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// TestSkew: `lifeline run` traces a kubectl that is one minor version older or newer than the API
// server (docs/versions.md).
func TestSkew(t *testing.T) {
	harness.Slow(t) // another kubectl takes minutes to build
	all := lab.Versions()
	server := slices.IndexFunc(all, func(v string) bool { return strings.HasPrefix(bench.Release(), "v"+v+".") })
	for _, i := range []int{server - 1, server + 1} {
		if i < 0 || i == len(all) {
			continue
		}
		t.Run(all[i], func(t *testing.T) {
			kubectl, err := lab.KubectlOf(t.Context(), all[i], os.Stderr)
			if err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), kubectl, "version", "--client").Output()
			if err != nil || !strings.Contains(string(out), "Client Version: v"+all[i]+".") {
				t.Fatalf("%s: %v\n%s", kubectl, err, out)
			}
			writes(t, kubectl)
		})
	}
}
