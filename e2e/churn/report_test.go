// SPDX-License-Identifier: Apache-2.0

package churn

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const mebi = 1 << 20

// level is the least, the median and the greatest of a metric over samples.
type level struct{ min, median, max float64 }

func levelOf(samples []sample, metric string) level {
	values := make([]float64, 0, len(samples))
	for _, s := range samples {
		values = append(values, s.Lifeline[metric])
	}
	if len(values) == 0 {
		return level{}
	}
	slices.Sort(values)
	return level{values[0], values[len(values)/2], values[len(values)-1]}
}

// halves are the samples of the first and of the second half.
func halves(samples []sample) (first, second []sample) {
	return samples[:len(samples)/2], samples[len(samples)/2:]
}

// report is a table of the total costs, in Markdown.
func report(samples []sample, w *workload, b *backend) string {
	first, last := samples[0], samples[len(samples)-1]
	grown := func(metric string) float64 { return last.Lifeline[metric] - first.Lifeline[metric] }
	early, late := halves(samples)
	levels := func(metric string, unit float64) string {
		a, b := levelOf(early, metric), levelOf(late, metric)
		return fmt.Sprintf(
			"%.1f / %.1f / %.1f, then %.1f / %.1f / %.1f",
			a.min/unit,
			a.median/unit,
			a.max/unit,
			b.min/unit,
			b.median/unit,
			b.max/unit,
		)
	}
	took := last.At.Sub(first.At)
	thousands := float64(last.Pods-first.Pods) / 1000
	cpu := grown("process_cpu_seconds_total")
	stored := last.stored.Since(first.stored)
	own, all := last.Own-first.Own, last.Requests-first.Requests

	var out strings.Builder
	row := func(what, format string, args ...any) {
		fmt.Fprintf(&out, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	out.WriteString("| what | figure |\n| --- | --- |\n")
	row(
		"cluster",
		"%d nodes, %d Deployments of %d Pods, %d namespaces",
		size.nodes,
		size.deployments,
		size.each(),
		size.namespaces,
	)
	row(
		"Pods replaced",
		"%d in %d rollouts and %s, %.1f a second; the slowest rollout %s",
		last.Pods-first.Pods,
		last.Rollouts-first.Rollouts,
		took.Round(time.Second),
		1000*thousands/took.Seconds(),
		w.slowest.Round(time.Second),
	)
	row("processor", "%.1f s per 1,000 Pods replaced; %.1f %% of one core", cpu/thousands, 100*cpu/took.Seconds())
	row(
		"memory, MiB (first half, then second; least / median / most)",
		"%s",
		levels("process_resident_memory_bytes", mebi),
	)
	row("heap in use, MiB", "%s", levels("go_memstats_heap_alloc_bytes", mebi))
	row("objects the engine knows", "%s", levels("lifeline_engine_objects", 1))
	row("open traces", "%s", levels("lifeline_open_traces", 1))
	row("lag, s", "%s", levels("lifeline_source_lag_seconds", 1))
	row("goroutines", "%s", levels("go_goroutines", 1))
	row("open files", "%s", levels("process_open_fds", 1))
	row("journal, MiB", "%s", levels("lifeline_journal_bytes", mebi))
	row(
		"a trace's last end until it is in the store (settle window included)",
		"p50 %.2f s, p99 %.2f s",
		stored.Quantile(0.5),
		stored.Quantile(0.99),
	)
	row("requests to the API server", "%.0f of %.0f; %.0f at the start", own, all, first.Own)
	row(
		"spans",
		"%.0f exported, %.0f dropped, %d repeated",
		grown("lifeline_spans_exported_total"),
		grown("lifeline_spans_dropped_total"),
		b.repeated,
	)
	row("store", "%.1f MiB per 1,000 Pods replaced", grown("lifeline_store_bytes")/mebi/thousands)
	return out.String()
}

// progress is one line about a sample.
func progress(first, s sample) string {
	v := s.Lifeline
	return fmt.Sprintf(
		"%s: %d rollouts, %d Pods; %.0f MiB, %.1f s CPU, %.0f goroutines, %.0f files, %.0f open, %.0f objects, "+
			"lag %.1f s, store %.1f MiB, %.0f spans out",
		s.At.Sub(first.At).Round(time.Second),
		s.Rollouts,
		s.Pods,
		v["process_resident_memory_bytes"]/mebi,
		v["process_cpu_seconds_total"],
		v["go_goroutines"],
		v["process_open_fds"],
		v["lifeline_open_traces"],
		v["lifeline_engine_objects"],
		v["lifeline_source_lag_seconds"],
		v["lifeline_store_bytes"]/mebi,
		v["lifeline_spans_exported_total"],
	)
}

// memoryBound is far above what the small cluster takes, in bytes, and what a
// thousand Pods of a larger one may add.
const memoryBound, memoryPerThousand = 300 * mebi, 100 * mebi

// check holds that nothing grows that should not, and that nothing is left over.
func check(t *testing.T, samples []sample) {
	t.Helper()
	early, late := halves(samples)
	for metric, slack := range map[string]float64{
		"go_goroutines":        20,
		"process_open_fds":     5,
		"lifeline_open_traces": 5,
	} {
		if a, b := levelOf(early, metric), levelOf(late, metric); b.median > 1.1*a.median+slack {
			t.Errorf(
				"%s has grown: its median was %.0f in the first half, and %.0f in the second",
				metric,
				a.median,
				b.median,
			)
		}
	}
	bound := memoryBound + memoryPerThousand*float64(size.pods)/1000
	if m := levelOf(samples, "process_resident_memory_bytes"); m.max > bound {
		t.Errorf("%.0f MiB of memory, want %.0f at most", m.max/mebi, bound/mebi)
	}
	last := samples[len(samples)-1]
	for _, metric := range []string{
		"lifeline_open_traces", "lifeline_source_lag_seconds", "lifeline_outbox_spans",
		"lifeline_spans_dropped_total", "lifeline_spans_refused_total", "lifeline_store_errors_total",
	} {
		value, there := last.Lifeline[metric]
		if value != 0 {
			t.Errorf("%s is %.1f in the end, want 0", metric, value)
		}
		// Counters with labels are not there until they have counted.
		if !there && !strings.HasSuffix(metric, "_total") {
			t.Errorf("there is no %s", metric)
		}
	}
}
