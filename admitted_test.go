// SPDX-License-Identifier: Apache-2.0

package lifeline

import (
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func TestAdmitted(t *testing.T) {
	claim := fullClaim
	claim.ParentTrace = trace.TraceID{}
	sc := Admit(good(t, "a=1"), claim)
	got, holds := ClaimOf(sc)
	if !holds || got.Parent != claim.Parent || got.Admitted != BasisOwner || !IsAdmitted(sc) ||
		sc.TraceID() != good(t, "").TraceID() {
		t.Fatalf("it is %v, claim %+v", sc, got)
	}
	forged := func(change func(*Claim)) trace.SpanContext {
		c := got
		change(&c)
		return Claimed(sc, c)
	}
	for name, c := range map[string]struct {
		reason string
		sc     trace.SpanContext
	}{
		"another parent":     {"its span follows from its parent", forged(func(c *Claim) { c.Parent[0]++ })},
		"another object":     {"and from its object", forged(func(c *Claim) { c.Object++ })},
		"another basis":      {"and from how it is known", forged(func(c *Claim) { c.Admitted = BasisNone })},
		"another nonce":      {"and from what tells it apart", forged(func(c *Claim) { c.Nonce++ })},
		"another generation": {"and from the generation", forged(func(c *Claim) { c.Generation-- })},
		"another trace":      {"and from its trace", sc.WithTraceID(trace.TraceID{1})},
		"a chosen span":      {"nobody can choose it", Claimed(sc.WithSpanID(trace.SpanID{1}), got)},
		"not admitted":       {"it does not say so", forged(func(c *Claim) { c.Admitted = NotAdmitted })},
		"bare":               {"there is no claim", Unclaimed(sc)},
		"none":               {"there is no context", trace.SpanContext{}},
		"of none":            {"there was no context", Admit(trace.SpanContext{}, got)},
	} {
		t.Run(name, func(t *testing.T) {
			if IsAdmitted(c.sc) {
				t.Errorf("%s: it counts as given at admission", c.reason)
			}
		})
	}
	other := got
	other.Nonce++
	if again := Admit(good(t, "a=1"), other); again.SpanID() == sc.SpanID() {
		t.Error("two that differ in the nonce are the same span")
	}
}
