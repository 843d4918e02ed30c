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
		t.Fatalf("Admit returned %v with claim %+v", sc, got)
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
		"another parent":     {"the span ID depends on the parent", forged(func(c *Claim) { c.Parent[0]++ })},
		"another object":     {"the span ID depends on the object", forged(func(c *Claim) { c.Object++ })},
		"another basis":      {"the span ID depends on the basis", forged(func(c *Claim) { c.Admitted = BasisNone })},
		"another nonce":      {"the span ID depends on the nonce", forged(func(c *Claim) { c.Nonce++ })},
		"another generation": {"the span ID depends on the generation", forged(func(c *Claim) { c.Generation-- })},
		"another trace":      {"the span ID depends on the trace", sc.WithTraceID(trace.TraceID{1})},
		"a chosen span":      {"a writer cannot choose the span ID", Claimed(sc.WithSpanID(trace.SpanID{1}), got)},
		"not admitted":       {"the claim has no basis", forged(func(c *Claim) { c.Admitted = NotAdmitted })},
		"bare":               {"there is no claim", Unclaimed(sc)},
		"none":               {"there is no context", trace.SpanContext{}},
		"from none":          {"Admit of an invalid context", Admit(trace.SpanContext{}, got)},
	} {
		t.Run(name, func(t *testing.T) {
			if IsAdmitted(c.sc) {
				t.Errorf("%s: IsAdmitted = true", c.reason)
			}
		})
	}
	other := got
	other.Nonce++
	if again := Admit(good(t, "a=1"), other); again.SpanID() == sc.SpanID() {
		t.Error("two claims with different nonces give the same span ID")
	}
}
