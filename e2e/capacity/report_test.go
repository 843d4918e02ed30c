// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/syntheticapi"
)

// report has the figures of one run.
type report struct {
	size scale
	// cold, restart and killed are the first start, the one after SIGTERM and the one after SIGKILL.
	cold, restart, killed started
	// stop and stopAgain are the times from SIGTERM to the end of the process.
	stop, stopAgain time.Duration
	// idle are the metrics before the churn.
	idle harness.Metrics
	// problems are the times of the list of problems before the churn and after it, in order.
	problems, problemsAfter []time.Duration
	// plain is the churn, and asked the same while clients ask questions.
	plain, asked *load
	questions    answered
	// peak is the largest memory of the first process, and store the size of its data on disk.
	peak, store float64
}

// load has the figures of one churn.
type load struct {
	before, after harness.Metrics
	// took is the length of the churn, and done its work.
	took time.Duration
	done syntheticapi.Churned
	// cpu is the processor time of lifeline in seconds, from the begin of the churn until all its traces are finished.
	// testCPU is that of the generated API server and this test during the churn.
	cpu, testCPU float64
	// lags are the times from the last write of a rollout to its finished trace, without the wait for
	// more, in order.
	lags []time.Duration
}

// ownCPU returns the processor time of this process, in seconds.
func ownCPU() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// quantile returns a value that a share q of all do not exceed.
func (r *load) quantile(q float64) time.Duration {
	if len(r.lags) == 0 {
		return 0
	}
	return r.lags[min(len(r.lags)-1, int(q*float64(len(r.lags))))].Round(10 * time.Millisecond)
}

// pods returns the number of replaced Pods, at least 1.
func (r *load) pods() int {
	n := 0
	for _, of := range r.done.Rollouts {
		n += len(of.Pods)
	}
	return max(n, 1)
}

// cores returns the processor time of lifeline for each second of a churn with that rate. It counts the
// time for all changes, so a process that falls behind does not seem cheaper.
func (r *load) cores(rate int) float64 { return r.cpu / float64(r.pods()) * float64(rate) }

// histogram returns the quantiles of a metric in the churn.
func (r *load) histogram(name string) string {
	h := r.after.Histograms[name].Since(r.before.Histograms[name])
	return fmt.Sprintf("p50 %.2f s, p99 %.2f s", h.Quantile(0.5), h.Quantile(0.99))
}

// mean returns the mean of a metric in the churn, in seconds.
func (r *load) mean(name string) float64 {
	in := func(part string) float64 { return r.after.Sums[name+part] - r.before.Sums[name+part] }
	return in("_sum") / max(1, in("_count"))
}

// String returns the table of docs/performance.md.
func (r *report) String() string {
	var out strings.Builder
	row := func(what, figure, aim string) { fmt.Fprintf(&out, "| %s | %s | %s |\n", what, figure, aim) }
	row("what", "figure", "aim")
	row("---", "---", "---")
	row("cluster", fmt.Sprintf("%d Nodes, %d Pods of %d Deployments with a Service each, %d namespaces",
		r.size.nodes, r.size.pods, r.size.deployments, r.size.namespaces), "–")
	start := func(of started) string {
		return fmt.Sprintf(
			"%.1f s, %.1f s of processor time, %.0f MiB at most",
			of.ready.Seconds(),
			of.cpu,
			of.peak/mebi,
		)
	}
	row("ready after the first start", start(r.cold), "60 s")
	row("heap in use, memory (RSS) before the churn", fmt.Sprintf("%.0f MiB, %.0f MiB",
		r.idle.Sums["go_memstats_heap_alloc_bytes"]/mebi, r.idle.Sums["process_resident_memory_bytes"]/mebi), "–")
	listed := func(times []time.Duration) string {
		return fmt.Sprintf("first %s, median %s, longest %s of %d", millis(times[0]), millis(median(times)),
			millis(slices.Max(times)), len(times))
	}
	row("the list of problems: "+fmt.Sprint(r.size.broken)+" Deployments that lack one of "+fmt.Sprint(r.size.causes)+
		" images", listed(r.problems)+"; after the churn "+listed(r.problemsAfter), "100 ms")
	plain := r.plain
	row("objects in the engine", fmt.Sprintf("%.0f", plain.after.Sums["lifeline_engine_objects"]), "–")
	pods := plain.pods()
	row(
		"churn",
		fmt.Sprintf("%d Pods replaced in %d rollouts: %.0f a second for %.0f s, and %.0f s for the last rollout; "+
			"%d versions of Pods, %d Events, %d changes in all; each written at most %.2f s late",
			pods, len(plain.done.Rollouts), float64(pods)/r.size.length.Seconds(), r.size.length.Seconds(),
			(plain.took-r.size.length).Seconds(), plain.done.Versions, plain.done.Events, plain.done.Changes,
			plain.done.Late.Seconds()),
		"100 a second",
	)
	each := 1000 / float64(pods)
	row("processor, `lifeline`", fmt.Sprintf("%.1f ms a Pod: %.2f cores at %d a second", each*plain.cpu,
		plain.cores(r.size.rate), r.size.rate), "1 core at 100 a second")
	row("processor, generated API server and test", fmt.Sprintf("%.1f ms a Pod", each*plain.testCPU), "–")
	row("memory (RSS) at most, with the churn", fmt.Sprintf("%.0f MiB", r.peak/mebi), "1,536 MiB")
	row("heap in use after it", fmt.Sprintf("%.0f MiB", plain.after.Sums["go_memstats_heap_alloc_bytes"]/mebi), "–")
	lags := func(of *load) {
		row("from an observation until it is stored", of.histogram("lifeline_observation_delay_seconds"), "2 s")
		row("from the last write of a rollout to its finished trace in the API, without the wait for more (2 s)",
			fmt.Sprintf("p50 %s, p99 %s of %d", of.quantile(0.5), of.quantile(0.99), len(of.lags)), "2 s")
		row("a look of the engine", fmt.Sprintf("%s, mean %.3f s", of.histogram("lifeline_engine_look_seconds"),
			of.mean("lifeline_engine_look_seconds")), "–")
		row("a write to the store", of.histogram("lifeline_store_write_seconds"), "–")
	}
	lags(plain)
	row("the same churn again, while "+fmt.Sprint(askers)+" clients ask questions without a pause",
		fmt.Sprintf("%d answers, %d refused at the limit; %.2f cores", r.questions.full, r.questions.busy,
			r.asked.cores(r.size.rate)), "the aims below")
	lags(r.asked)
	row("data on disk", fmt.Sprintf("%.0f MiB", r.store/mebi), "–")
	row("SIGTERM until the end", fmt.Sprintf("%.1f s", r.stop.Seconds()), "–")
	row("ready after it", start(r.restart), "30 s")
	row("ready after SIGKILL", start(r.killed), "30 s")
	return out.String()
}

// check asserts the bounds that do not depend on other work of the machine.
func (r *report) check(t *testing.T) {
	t.Helper()
	bound := float64(maxMemory)
	if testing.Short() {
		bound = smallMemory
	}
	if peak := max(r.peak, r.restart.peak, r.killed.peak); peak > bound {
		t.Errorf("%.0f MiB of memory, want %.0f at most", peak/mebi, bound/mebi)
	}
	if n := r.plain.cores(r.size.rate); n > maxCores {
		t.Errorf("%.2f cores at %d Pods a second, want %.1f at most", n, r.size.rate, maxCores)
	}
	if n, most := r.asked.cores(r.size.rate), maxCores+maxQuestionCores; n > most {
		t.Errorf("%.2f cores at %d Pods a second with questions, want %.1f at most", n, r.size.rate, most)
	}
	if len(r.asked.lags) == 0 {
		t.Error("no rollout was finished while clients asked questions")
	}
	if r.questions.full == 0 {
		t.Error("no question was answered: there was no load")
	}
}
