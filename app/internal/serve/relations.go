// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
)

// relations are the relations of the configuration and their use. It is safe for concurrent use.
type relations struct {
	declared *relation.Set
	// matches is the number of related pairs of each relation; nil before the first look.
	matches atomic.Pointer[map[string]uint64]
}

// found notes the numbers of related pairs.
func (r *relations) found(matches map[string]uint64) { r.matches.Store(&matches) }

// list returns the use of each relation.
func (r *relations) list() []api.Relation {
	matches := map[string]uint64{}
	if known := r.matches.Load(); known != nil {
		matches = *known
	}
	keys := func(c relation.Counts) api.RelationKeys {
		return api.RelationKeys{Keyed: int64(c.Keyed), Keyless: int64(c.Keyless)} //nolint:gosec // counts
	}
	var out []api.Relation
	for _, of := range r.declared.Stats() {
		out = append(out, api.Relation{
			Name: of.Name, From: of.From.String(), To: of.To.String(),
			Matches: int64(matches[of.Name]), //nolint:gosec // a count
			Causes:  keys(of.Causes), Effects: keys(of.Effects),
		})
	}
	return out
}

var (
	matchesMetric = telemetry.Counter("lifeline_relation_matches_total",
		"Pairs of objects related by a relation of the configuration, by its name. 0 for long: the relation is wrong, "+
			"or its objects are not watched; see lifeline doctor.", "relation")
	keylessMetric = telemetry.Counter("lifeline_relation_keyless_total",
		"Observed versions of objects of a relation's kinds without a key, by the relation and its side (from, to). "+
			"Normal for objects outside the relation: a field is missing, or a condition is false.", "relation", "side")
)

// collector returns a collector of the counts.
func (r *relations) collector() prometheus.Collector {
	return telemetry.Collector(func(to telemetry.Scrape) {
		for _, of := range r.list() {
			to.Value(matchesMetric, float64(of.Matches), of.Name)
			to.Value(keylessMetric, float64(of.Causes.Keyless), of.Name, "from")
			to.Value(keylessMetric, float64(of.Effects.Keyless), of.Name, "to")
		}
	}, matchesMetric, keylessMetric)
}
