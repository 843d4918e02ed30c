// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/insight"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// lifecycleBuckets are the buckets of changes and their phases, in seconds. Native histograms are off: a Prometheus
// that reads them drops these, which the rules and the dashboard need.
var lifecycleBuckets = []float64{.01, .03, .1, .3, 1, 3, 10, 30, 60, 120, 300, 600, 1800, 3600}

// traceLabel is the label of exemplars.
const traceLabel = "trace_id"

// total is the phase of a whole lifecycle.
const total = "total"

// durations are the histograms of finished changes and of the phases of their lifecycles. Of a trace only its first
// finished version counts, so that its duration is that of the first claim.
type durations struct {
	change, phase *prometheus.HistogramVec
	// changes and phases are the pairs of a kind and a namespace so far.
	changes, phases notice.Pairs
}

func newDurations(r prometheus.Registerer) *durations {
	f := promauto.With(r)
	return &durations{
		change: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lifeline_change_seconds",
			Help: "Seconds from the first write of a change to its first outcome, by the kind and the namespace of " +
				"the changed object and by that outcome; without healings. Beyond 500 pairs of kind and namespace, " +
				"both are (other). An exemplar has the trace ID. Too many above a bound: lifeline find --sort " +
				"duration lists them.",
			Buckets: lifecycleBuckets,
		}, []string{"kind", "namespace", "outcome"}),
		phase: f.NewHistogramVec(prometheus.HistogramOpts{
			Name: "lifeline_phase_seconds",
			Help: "Seconds of the completed phases of finished lifecycles (docs/guides/questions.md), by phase and " +
				"by the kind and the namespace of the object, bounded as in lifeline_change_seconds. The phase total " +
				"is the whole of a lifecycle that converged, failed or ended with its object. A rise: lifeline find " +
				"--sort phase.NAME lists the slowest.",
			Buckets: lifecycleBuckets,
		}, []string{"kind", "phase", "namespace"}),
	}
}

// count counts finished traces. Only those with a kept ID become exemplars: others cannot be opened.
func (d *durations) count(finished []*span.Trace, kept map[trace.TraceID]bool) {
	for _, t := range finished {
		exemplar := prometheus.Labels(nil)
		if kept[t.ID] {
			exemplar = prometheus.Labels{traceLabel: t.ID.String()}
		}
		all := store.LifecyclesOf(t, lastEnd(t))
		store.Finish(all)
		for i := range all {
			d.countLifecycle(&all[i], exemplar)
		}
		root := span.Revise(t).Root()
		if root == nil || insight.Attribute(root, span.KeyHeals) != "" {
			continue
		}
		of := notice.ChangedObject(t)
		kindName, namespace := d.changes.Bounded(of.Kind.Kind, of.Namespace)
		observe(d.change.WithLabelValues(kindName, namespace, string(t.Outcome)), root.Duration(lastEnd(t)), exemplar)
	}
}

func (d *durations) countLifecycle(l *store.Lifecycle, exemplar prometheus.Labels) {
	kindName, namespace := d.phases.Bounded(l.Object.Kind.Kind, l.Object.Namespace)
	add := func(phase string, length time.Duration) {
		observe(d.phase.WithLabelValues(kindName, phase, namespace), length, exemplar)
	}
	switch span.Outcome(l.Outcome) {
	case span.Converged, span.Failed, span.Deleted:
		add(total, l.Duration)
	default: // what it lasts depends on what ended it
	}
	open := map[string]bool{}
	for _, s := range l.Steps {
		open[s.Phase] = open[s.Phase] || s.End.IsZero()
	}
	for name, length := range l.Phases {
		if !open[name] {
			add(name, length)
		}
	}
}

// isRollout reports whether a kind has rollouts, as the usual objective means them.
func isRollout(of object.Kind) bool {
	return kind.Deployment.Is(of) || kind.StatefulSet.Is(of) || kind.DaemonSet.Is(of)
}

// expect makes the series of open rollouts, with the value 0. A rate misses the first value of a series.
func (d *durations) expect(open []*span.Trace) {
	for _, t := range open {
		of := notice.ChangedObject(t)
		if !isRollout(of.Kind) {
			continue
		}
		kindName, namespace := d.changes.Bounded(of.Kind.Kind, of.Namespace)
		for _, outcome := range []span.Outcome{span.Converged, span.Failed} {
			d.change.WithLabelValues(kindName, namespace, string(outcome))
		}
	}
}

// observe adds a duration with an exemplar; nil means none.
func observe(to prometheus.Observer, d time.Duration, exemplar prometheus.Labels) {
	if with, is := to.(prometheus.ExemplarObserver); is && exemplar != nil {
		with.ObserveWithExemplar(d.Seconds(), exemplar)
		return
	}
	to.Observe(d.Seconds())
}
