// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// SpanQuery selects traces by one of their spans, which has all properties. A zero field selects all.
type SpanQuery struct {
	Scope              Scope
	Service, Operation string
	// Attributes are texts by the keys below. A trace never matches another key.
	Attributes map[string]string
	// Since and Until bound the start of the span: not before Since, before Until.
	Since, Until time.Time
	// Longer and Shorter are the shortest and the longest duration of the span. An open one has no
	// duration: it matches Longer and Shorter only if both are zero.
	Longer, Shorter time.Duration
	// Limit bounds the traces; see DefaultPage and MaxPage.
	Limit int
}

// The attributes that Search supports: those of the object of a span, and the outcome and the author
// of a reconciliation.
const (
	AttributeNamespace       = "k8s.namespace.name"
	AttributeObjectNamespace = string(span.KeyNamespace)
	AttributeObjectName      = string(span.KeyName)
	AttributeObjectKind      = string(span.KeyKind)
	AttributeObjectUID       = string(span.KeyUID)
	AttributeOutcome         = string(span.KeyOutcome)
	AttributeActor           = string(span.KeyActor)
)

// Spanner searches traces by their spans.
type Spanner interface {
	// Services returns the services with spans, sorted.
	Services(ctx context.Context, scope Scope) ([]string, error)
	// Operations returns the names of the spans of a service, sorted; of all services for "".
	Operations(ctx context.Context, scope Scope, service string) ([]string, error)
	// Search returns the IDs of the traces that match q. The trace with the latest first span comes first.
	Search(ctx context.Context, q SpanQuery) ([]trace.TraceID, error)
}
