// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

func TestClaimPattern(t *testing.T) {
	want := ClaimsOf("shop", "data", "my-db")
	for name, ok := range map[string]bool{
		"data-my-db-0": true, "data-my-db-12": true, "data-my-db": false, "data-my-db-": false, "data-my-db-x1": false,
		"data": false, "": false,
	} {
		got, found := ClaimPattern(object.Name{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: name})
		if found != ok || ok && got != want {
			t.Errorf("claim %q: %v, %t; want %v, %t", name, got, found, want, ok)
		}
	}
}
