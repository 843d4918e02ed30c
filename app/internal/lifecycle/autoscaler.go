// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"go.opentelemetry.io/otel/attribute"

	"github.com/kube-lifeline/lifeline/app/internal/cause"
	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// autoscaler returns the autoscaler that made one of the writes of r, or nil.
func (d *derivation) autoscaler(r *change.Reconciliation) *change.Timeline {
	for _, w := range r.Writes {
		if t := d.Autoscaler(w); t != nil {
			return t
		}
	}
	return nil
}

// decision returns the event of a scaling by an autoscaler with known metrics, else nothing.
func (d *derivation) decision(w *change.Write) []span.Event {
	t := d.Autoscaler(w)
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
