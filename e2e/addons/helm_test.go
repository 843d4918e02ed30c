// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// TestHelmSecrets: a server that watches the metadata of Secrets reports a revision in Helm's default storage
// as one change.
func TestHelmSecrets(t *testing.T) {
	s := start(t, lab.Options{AddOns: []lab.AddOn{lab.Helm}})
	server := s.Server(t, harness.ServerOptions{Config: "watch: {secretMetadata: true}\n"})
	server.Start(t)
	chart := addon.Chart(t)
	for _, args := range [][]string{{"install", "shop", chart}, {"upgrade", "shop", chart, "--set=version=2"}} {
		if _, err := s.RunHelmAs(t.Context(), userA, append(args, "--namespace="+shop)...); err != nil {
			t.Fatal(err)
		}
		s.settle()
	}
	harness.Eventually(t, "an idle server", func() bool { return server.Ready(t) && server.Open(t) == 0 })
	var got []string
	for _, sum := range server.List(t, nil) {
		tr := server.Trace(t, sum.TraceID)
		if tr.Spans[0].Attributes["k8s.object.namespace"] == shop {
			got = append(got, tr.Spans[0].Name+" "+tr.Spans[0].Object())
		}
		for _, sp := range tr.Spans {
			for k, v := range sp.Attributes {
				if strings.Contains(v, "H4sI") { // how the content of a release begins
					t.Errorf("attribute %s of %s has the content of a Secret", k, sp.Name)
				}
			}
		}
	}
	want := []string{"reconcile Secret sh.helm.release.v1.shop.v2", "reconcile Secret sh.helm.release.v1.shop.v1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traces: -want +got:\n%s", diff)
	}
}
