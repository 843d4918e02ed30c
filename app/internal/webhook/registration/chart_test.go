// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestChart compares the webhooks of the Helm chart with those of lifeline webhook print; -update rewrites
// them. Then run make manifests.
func TestChart(t *testing.T) {
	const path = "../../../../deploy/helm/lifeline/files/webhooks.yaml"
	o := valid()
	o.Namespace = "lifeline"
	o.Service.NamespacedName = types.NamespacedName{Namespace: o.Namespace, Name: DefaultService}
	var out bytes.Buffer
	if code, err := (&Print{o, &out}).Run(t.Context()); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	_, want, _ := strings.Cut(out.String(), "\nwebhooks:\n")
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not what lifeline webhook print prints; go test ./internal/webhook/registration "+
			"-run TestChart -update, and make manifests: -want +got:\n%s", path, diff)
	}
	// The template replaces these by the names of the release.
	for text, times := range map[string]int{
		"      name: lifeline-webhook\n      namespace: lifeline\n": 2, "      - lifeline\n": 2, "lifeline-webhook": 2,
	} {
		if n := strings.Count(want, text); n != times {
			t.Errorf("%q is there %d times, want %d", text, n, times)
		}
	}
}
