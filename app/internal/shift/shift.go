// SPDX-License-Identifier: Apache-2.0

// Package shift has the answer to what got slower, since when, and what may have caused it: its form in JSON, its
// sentences, and the groups of shifts with one cause. The statistics are in insight/regression. Texts of a cluster are
// not escaped here.
package shift

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// Report has the shifts in a range of time, the worst first.
type Report struct {
	// AsOf is the time of the computation. Since and Until bound the starts of the samples.
	AsOf  time.Time `json:"asOf"`
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	// Series is the number of series with enough samples, and Samples that of all samples. A series is one phase of the
	// lifecycles of one workload, of one kind in a namespace, or on one node and the like. A sample is one change.
	// Samples from before Since count, too: as much time again.
	Series  int `json:"series"`
	Samples int `json:"samples"`
	// Short is the number of workloads, and of kinds without one, with too few samples: Least are needed on each side
	// of a shift.
	Short int `json:"short"`
	Least int `json:"least"`
	// Shifts got slower, or faster.
	Shifts []Shift `json:"shifts"`
	// Incomplete says why data may be missing; empty if none is.
	Incomplete string `json:"incomplete,omitempty"`
}

// Shift is a lasting change of the length of one phase, by more than chance.
type Shift struct {
	// ID is that of the series.
	ID        string `json:"id"`
	Cluster   string `json:"cluster,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Workload is the kind and the name, as in Deployment/web. It is empty for a series of a kind.
	Workload string `json:"workload,omitempty"`
	// Attribute is the value that the lifecycles of a series share, such as their node. It is absent for a series of
	// a workload or a kind.
	Attribute *Value `json:"attribute,omitempty"`
	// Kind is that of the lifecycles, Verb that of their first write, and Phase the name of the phase in questions, or
	// total.
	Kind  string `json:"kind"`
	Verb  string `json:"verb,omitempty"`
	Phase string `json:"phase"`
	// Faster means that the phase got faster. Ended means that the length has returned.
	Faster bool `json:"faster"`
	Ended  bool `json:"ended"`
	// Drift means that the length changed slowly. Since is then the begin of the drift, and no change began it.
	Drift bool `json:"drift,omitempty"`
	// By is the phase that explains the shift of the total; absent without one.
	By string `json:"by,omitempty"`
	// Since is the start of the first sample after the shift, and Until that of the first one after its end.
	Since  time.Time  `json:"since"`
	Until  *time.Time `json:"until,omitempty"`
	Before Side       `json:"before"`
	After  Side       `json:"after"`
	// Effect is the difference of the lengths, and Low and High are its interval at 95 %.
	Effect timestamp.Seconds `json:"effect"`
	Low    timestamp.Seconds `json:"low"`
	High   timestamp.Seconds `json:"high"`
	// Ratio is that of the lengths after and before the shift.
	Ratio float64 `json:"ratio"`
	// P is the probability of such a shift by chance.
	P float64 `json:"p"`
	// Factors may explain the shift, the best first. It is empty if no cause was found.
	Factors []Factor `json:"factors"`
	// Change is the change that began the shift. It is absent without one.
	Change *problem.Cause `json:"change,omitempty"`
	// Earlier are changes just before the shift, the latest first. Only an answer about one workload has them.
	Earlier []Earlier `json:"earlier,omitempty"`
}

// Side has the samples before or after a shift.
type Side struct {
	Count  int               `json:"count"`
	Median timestamp.Seconds `json:"median"`
}

// Factor is a circumstance that may explain a shift.
type Factor struct {
	// Values occur together, so that the data cannot tell them apart.
	Values []Value `json:"values"`
	// Share is the part of the shift that is absent without the values, from 0 to 1.
	Share float64 `json:"share"`
	// With and Without are the numbers of objects after the shift with the values and without them.
	With    int `json:"with"`
	Without int `json:"without"`
	// New means that the values began with the shift. Later means that later values count, too, such as later images.
	New   bool `json:"new,omitempty"`
	Later bool `json:"later,omitempty"`
}

// Value is one value of an attribute, such as the node node-3.
type Value struct {
	Attribute string `json:"attribute"`
	Value     string `json:"value"`
}

// Earlier is a change just before a shift.
type Earlier struct {
	problem.Cause

	// Relation is the relation to the shift: workload, namespace, or a Value of a factor, such as "node node-3".
	Relation string `json:"relation"`
}

// IDOf returns the ID of the series of a shift.
func IDOf(s *Shift) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %t", s.unit(), s.Phase, s.Faster))
	return hex.EncodeToString(sum[:8])
}

// unit identifies what the phases of a series belong to.
func (s *Shift) unit() string {
	var of Value
	if s.Attribute != nil {
		of = *s.Attribute
	}
	return fmt.Sprintf("%q %q %q %q %q %q", s.Cluster, s.Namespace, s.Workload, s.Kind, s.Verb, of)
}

// Select returns a copy of the report with the shifts of these directions and states.
func (r *Report) Select(faster, ended bool) *Report {
	out := *r
	out.Shifts = []Shift{}
	for i := range r.Shifts {
		if s := &r.Shifts[i]; (faster || !s.Faster) && (ended || !s.Ended) {
			out.Shifts = append(out.Shifts, *s)
		}
	}
	return &out
}

// worse is the order of shifts: negative if a is worse than b.
func worse(a, b *Shift) int {
	return cmp.Or(cmp.Compare(abs(b.Effect), abs(a.Effect)), a.Since.Compare(b.Since),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Workload, b.Workload), cmp.Compare(a.Phase, b.Phase),
		cmp.Compare(a.ID, b.ID))
}

func abs(s timestamp.Seconds) timestamp.Seconds { return max(s, -s) }
