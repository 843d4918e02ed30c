// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline"
)

func TestSupplies(t *testing.T) {
	for name, tc := range map[string]struct {
		reason    string
		suppliers string
		of        []string
		want      bool
	}{
		"anyone": {"", SuppliersAnyone, nil, true},
		"nobody": {"", SuppliersNobody, []string{"ci"}, false},
		"in": {
			"one matching group is enough", SuppliersGroups, []string{"system:authenticated", "ci"}, true,
		},
		"not in":         {"", SuppliersGroups, []string{"system:authenticated", "CI"}, false},
		"in no group":    {"", SuppliersGroups, nil, false},
		"nothing is set": {"without a value nothing is allowed", "", []string{"ci"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := WebhookConfiguration{Suppliers: tc.suppliers, SupplierGroups: []string{"ops", "ci"}}
			if got := c.Supplies(tc.of); got != tc.want {
				t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

// TestConventions: each supported convention keeps a context's claim.
func TestConventions(t *testing.T) {
	above := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	made := lifeline.Admit(above, lifeline.Claim{Object: 1, Digest: 2, Generation: 3})
	for _, c := range suppliable() {
		said := WebhookConfiguration{Convention: c.String()}
		if got := said.ContextConvention(); got != c {
			t.Errorf("convention %s is parsed as %v", c, got)
		}
		a := lifeline.Annotations(c.Encode(made, baggage.Baggage{}))
		if claim, holds := lifeline.ClaimOf(lifeline.Extract(&a, c)); !holds || claim.Digest != 2 {
			t.Errorf("by %s got claim %+v, %v", c, claim, holds)
		}
	}
}
