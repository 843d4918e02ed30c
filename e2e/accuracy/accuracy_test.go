// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// played is a scenario after it was played.
type played struct {
	*scenario
	ns    string
	began time.Time
}

// observer is a server and what it knows beside its watches.
type observer struct {
	name    string
	audited bool
	server  *harness.Server
}

// onFakeNodes are the scenarios for fake nodes.
var onFakeNodes = slices.Concat(
	deployments, workloads, records, relations, customKinds, projects, delivery, controllers, aggregated)

// TestAccuracy plays the scenarios for fake nodes.
func TestAccuracy(t *testing.T) {
	harness.Slow(t)
	addon.InstallProvider(t, bench)
	measure(t, bench, fakeNodes, onFakeNodes, bench.SampleAuditLog())
}

// measure plays scenarios on a cluster and judges each server. The result is that part of the page. By
// watch alone the deletion of a Pod in the course of its owner's own changes has no author, and so may be
// in the owner's trace. more are the audit logs of aggregated APIs.
func measure(t *testing.T, on *harness.Bench, part string, scenarios []scenario, more ...string) {
	t.Helper()
	admit(t, on)
	log := on.AuditLog()
	reduced := filepath.Join(t.TempDir(), "metadata.log")
	defer stored.Reduce(t, log, reduced)()
	observers := []observer{
		{name: "audit log at RequestResponse", audited: true, server: serve(t, on, log)},
		{name: "audit log at Metadata", audited: true, server: serve(t, on, reduced)},
		{name: "watch alone", server: serve(t, on, "")},
	}
	logs := append([]string{log}, more...)
	ledgers := make([]*stored.Ledger, len(logs))
	for i := range logs {
		ledgers[i] = stored.Follow(logs[i])
	}
	all := make([]played, len(scenarios))
	ok := t.Run("play", func(t *testing.T) {
		for i := range scenarios {
			t.Run(scenarios[i].name, func(t *testing.T) {
				t.Parallel()
				all[i] = act(t, on, &scenarios[i], ledgers)
			})
		}
	})
	for _, l := range ledgers {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	if !ok {
		t.FailNow()
	}
	writes := read(t, logs)
	// -run may leave scenarios out.
	all = slices.DeleteFunc(all, func(p played) bool { return p.scenario == nil })
	r := report{part: part, scenarios: all}
	for _, o := range observers {
		r.add(o.name, verdicts(t, o, all, writes))
	}
	r.log(t)
	if *update && len(all) == len(scenarios) {
		r.write(t)
	}
	for i, o := range observers {
		r.require(t, i, o.audited)
	}
}

// read returns the writes of several audit logs, in the order of their answers.
func read(t *testing.T, logs []string) []audit.Write {
	t.Helper()
	var all []audit.Write
	for _, log := range logs {
		writes, err := audit.Read(log)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, writes...)
	}
	slices.SortStableFunc(all, func(a, b audit.Write) int { return a.Completed.Compare(b.Completed) })
	return all
}

func serve(t *testing.T, on *harness.Bench, log string) *harness.Server {
	t.Helper()
	config := declared
	if log != "" {
		config += "receivers: {audit: {logFile: " + log + "}}\n"
	}
	s := on.Server(t, harness.ServerOptions{Config: config})
	s.Start(t)
	return s
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// act plays one scenario in a new namespace, which stays.
func act(t *testing.T, on *harness.Bench, sc *scenario, ledgers []*stored.Ledger) played {
	t.Helper()
	slug := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(sc.name), "-"), "-")
	if len(slug) > 24 {
		slug = strings.Trim(slug[:24], "-")
	}
	s := &stage{Bench: on, t: t, ns: fmt.Sprintf("%s-%06x", slug, rand.IntN(1<<24)), ledgers: ledgers}
	s.MustKubectl(t, "", "create", "namespace", s.ns)
	s.AwaitDefaults(t, s.ns)
	if sc.scenery != nil {
		sc.scenery(s)
	}
	s.settle()
	p := played{scenario: sc, ns: s.ns, began: time.Now()}
	sc.play(s)
	s.settle()
	return p
}

// of reports whether an object belongs to the scenario: by its namespace, or by its name elsewhere.
func (p *played) of(namespace, name string) bool {
	return strings.HasPrefix(namespace, p.ns) || strings.Contains(name, p.ns)
}

// failed is the outcome of a trace with a permanent failure.
const failed = "failed"

// verdicts judges one server in all scenarios.
func verdicts(t *testing.T, o observer, all []played, writes []audit.Write) []verdict {
	t.Helper()
	awaitIdle(t, o.server)
	var traces []*harness.Trace
	for _, sum := range o.server.List(t, nil) {
		tr := o.server.Trace(t, sum.TraceID)
		if sum.Outcome == failed {
			tr.Spans[0].Attributes["lifeline.outcome"] = failed // also by an effect: a Pod that crashes
		}
		traces = append(traces, tr)
	}
	out := make([]verdict, len(all))
	for i := range all {
		p := &all[i]
		of := slices.DeleteFunc(slices.Clone(writes), func(w audit.Write) bool { return !p.of(w.Namespace, w.Name) })
		since := slices.IndexFunc(of, func(w audit.Write) bool { return w.Received.After(p.began) })
		if since < 0 {
			since = len(of)
		}
		is := truthOf(of, since)
		scenery := truthOf(of, 0)
		mine := slices.DeleteFunc(slices.Clone(traces), func(tr *harness.Trace) bool {
			root := tr.Spans[0]
			if !p.of(root.Attributes["k8s.object.namespace"], root.Object()) {
				return true
			}
			c := changeOf(tr, &scenery)
			if c.root != nil {
				return c.root.Received.Before(p.began)
			}
			return root.Start.Before(p.began)
		})
		want := slices.Clone(p.want)
		if o.audited {
			want = append(want, p.refusals...)
		}
		for j := range want {
			want[j] = strings.ReplaceAll(want[j], "NS", p.ns)
		}
		out[i] = judge(mine, want, &is, p.series)
		out[i].missing = append(out[i].missing, unlinked(mine, p.links, &is)...)
	}
	return out
}

// awaitIdle waits until no trace is open, for at most a minute: one that stays open is judged so.
func awaitIdle(t *testing.T, s *harness.Server) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	harness.Eventually(t, "an idle server", func() bool {
		return s.Ready(t) && s.Open(t) == 0 || time.Now().After(deadline)
	})
}
