// SPDX-License-Identifier: Apache-2.0

package change

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/history"
)

// Publication is the first version of an EndpointSlice of a Service with a Pod as a ready endpoint.
type Publication struct {
	Service string
	// Owner is the UID of the Service, or "" for a slice by another author than its controller.
	Owner types.UID
	RV    uint64
	// At is the time of that version.
	At history.Moment
	// Baseline means that the observer found the Pod there at its start.
	Baseline bool
	// HandedOut means that a span with the publication was handed out.
	HandedOut bool
}

// Better reports whether p is better evidence than known, the publication of the same Pod by the same
// Service: the earlier version, or the better observation of the same version.
func (p *Publication) Better(known *Publication) bool {
	switch {
	case p.RV != known.RV:
		return p.RV < known.RV
	case p.Baseline != known.Baseline:
		return known.Baseline
	case p.At.Live != known.At.Live:
		return p.At.Live
	}
	return p.At.Hi.Before(known.At.Hi)
}
