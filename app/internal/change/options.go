// SPDX-License-Identifier: Apache-2.0

package change

import "time"

// Options are the settings of the engine. The zero value works after Complete.
type Options struct {
	// Cluster identifies the cluster. It is part of every derived trace ID.
	Cluster string
	// Settle is the quiet time of a trace after the end of its last span, before the trace counts
	// as settled (rule L9). A kubelet checks its containers once a second. So a crash right after
	// the start shows in that time. Default DefaultSettle.
	Settle time.Duration
	// Quiet is the time for which an object without observedGeneration still counts as being
	// reconciled after its last activity. The writes of its controller in that time belong to the
	// reconciliation. Default 3 s.
	Quiet time.Duration
	// Patience is the time without progress after which a trace ends as unfinished. Default 1 h.
	Patience time.Duration
	// Aftermath is the time after the convergence of a change for which the incidents of its Pods are collected.
	// Default 0: none are.
	Aftermath time.Duration
	// Rebuild reconstructs the objects from before the start of the observer, also converged ones,
	// from their own timestamps. It is for explanations of objects whose creation was not observed.
	Rebuild bool
}

// DefaultSettle is the default of Options.Settle.
const DefaultSettle = 2 * time.Second

// Complete returns o with the defaults.
func (o Options) Complete() Options {
	if o.Settle <= 0 {
		o.Settle = DefaultSettle
	}
	if o.Quiet <= 0 {
		o.Quiet = 3 * time.Second
	}
	if o.Patience <= 0 {
		o.Patience = time.Hour
	}
	return o
}

// MaxLag is the maximum time that a trace waits for a delayed source.
const MaxLag = 30 * time.Second
