// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// autoscaler returns the autoscaler that made one of the writes of r, or nil.
func (b *Builder) autoscaler(r *change.Reconciliation) *change.Timeline {
	for _, w := range r.Writes {
		if t := cause.Autoscaler(b.scene, w); t != nil {
			return t
		}
	}
	return nil
}

// decision returns the event of a scaling by an autoscaler with known metrics, else nothing.
func (b *Builder) decision(w *change.Write) []span.Event {
	t := cause.Autoscaler(b.scene, w)
	if t == nil {
		return nil
	}
	metrics := cause.Decision(t, w)
	if metrics == "" {
		return nil
	}
	return []span.Event{{
		Time: w.At.At().Time, Name: span.EventAutoscale,
		Attributes: []attribute.KeyValue{span.KeyMessage.String(metrics)},
	}}
}
