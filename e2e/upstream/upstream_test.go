// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// The names of the servers.
const (
	response = "audit log at RequestResponse"
	metadata = "audit log at Metadata"
	watch    = "watch alone"
	killed   = "audit log, killed again and again"
)

// observer is a server and its sources.
type observer struct {
	name   string
	server *harness.Server
}

// leastTests is the number of tests that must pass at least, so that an expression without a match is found.
const leastTests = 200

// TestUpstream runs the tests, and holds each server against the audit log.
func TestUpstream(t *testing.T) {
	harness.Slow(t)
	suite, err := lab.UpstreamTests(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		bench.MustKubectl(t, "", "create", "clusterrolebinding", g.user, "--clusterrole=cluster-admin",
			"--user="+g.user)
	}
	log := bench.AuditLog()
	reduced := filepath.Join(t.TempDir(), "metadata.log")
	defer stored.Reduce(t, log, reduced)()
	observers := []observer{
		{response, serve(t, "response", log)},
		{metadata, serve(t, "metadata", reduced)},
		{watch, serve(t, "watch", "")},
		{killed, serve(t, "killed", log)},
	}
	defer keepLog(t, log)
	began := time.Now()
	stop := killAgain(t, observers[3].server)
	passed := play(t, suite)
	kills := stop()
	if passed < leastTests {
		t.Errorf("%d tests passed, want %d: is an expression without a match?", passed, leastTests)
	}
	r := report{tests: passed, kills: kills}
	for _, o := range observers {
		awaitIdle(t, o.server)
	}
	writes, err := audit.Read(log)
	if err != nil {
		t.Fatal(err)
	}
	l := read(writes, began)
	var first []*harness.Trace
	for i, o := range observers {
		traces := tracesOf(t, o.server)
		v := judge(o.name, traces, l)
		if i == 0 {
			first = traces
		}
		v.compare(first, traces)
		r.add(o.name, v)
		switch {
		case o.name == watch: // without authors, some effects are changes of their own
			t.Logf("%s: %s", o.name, v)
			delete(v.faults, differs)
		case o.name == killed && len(v.faults[lost])*100 <= v.all: // what begins and ends in a gap
			t.Logf("%s: %s", o.name, v)
			delete(v.faults, lost)
			delete(v.faults, differs)
		}
		if len(v.faults) > 0 {
			t.Errorf("%s:\n%s", o.name, v)
		}
	}
	t.Log(r.text())
	if *update {
		r.write(t)
	}
}

// keep is a directory for the data of the servers and the audit log; empty means none. After a failure
// they show what happened.
var keep = os.Getenv("LIFELINE_E2E_KEEP")

func serve(t *testing.T, name, log string) *harness.Server {
	t.Helper()
	var o harness.ServerOptions
	if log != "" {
		o.Config = "receivers: {audit: {logFile: " + log + "}}\n"
	}
	if keep != "" {
		o.Dir = filepath.Join(keep, name)
	}
	s := bench.Server(t, o)
	s.Start(t)
	return s
}

func keepLog(t *testing.T, log string) {
	t.Helper()
	if keep == "" {
		return
	}
	text, err := os.ReadFile(log)
	if err == nil {
		err = os.WriteFile(filepath.Join(keep, "audit.log"), text, 0o600)
	}
	if err != nil {
		t.Errorf("cannot keep the audit log: %v", err)
	}
}

// killAgain kills and starts the server until the returned function is called, which returns the number
// of kills.
func killAgain(t *testing.T, s *harness.Server) (stop func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	kills := make(chan int, 1)
	go func() {
		n := 0
		tick := time.NewTicker(37 * time.Second)
		defer tick.Stop()
		defer func() { kills <- n }()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			s.Kill(t)
			s.Start(t)
			n++
		}
	}()
	return func() int { cancel(); return <-kills }
}

// play runs all groups and returns the number of passed tests.
func play(t *testing.T, suite string) int {
	t.Helper()
	passed := make([]int, len(groups))
	t.Run("play", func(t *testing.T) {
		for i, g := range groups {
			t.Run(g.user, func(t *testing.T) {
				t.Parallel()
				passed[i] = run(t, suite, g)
			})
		}
	})
	sum := 0
	for _, n := range passed {
		sum += n
	}
	return sum
}

// patience bounds one group.
const patience = 30 * time.Minute

// run runs the tests of a group, and returns the number of passed ones.
func run(t *testing.T, suite string, g group) int {
	t.Helper()
	var skip []string
	for _, expressions := range skips {
		skip = append(skip, expressions...)
	}
	if g.skip != "" {
		skip = append(skip, g.skip)
	}
	slices.Sort(skip)
	report := filepath.Join(t.TempDir(), "report.json")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	kubeconfig := bench.KubeconfigFor(g.user)
	cmd := exec.CommandContext(ctx, suite, "--provider=skeleton", "--kubeconfig="+kubeconfig,
		"--disable-log-dump", "--ginkgo.no-color", "--ginkgo.timeout="+patience.String(),
		"--ginkgo.focus="+g.focus, "--ginkgo.skip="+either(skip...), "--ginkgo.json-report="+report)
	var out bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = bench.Env(kubeconfig), t.TempDir(), &out, &out
	err := cmd.Run()
	passed, failed := results(t, report)
	if err != nil || len(failed) > 0 {
		t.Errorf("e2e.test ended with %v; failed:\n%s\n%s", err, strings.Join(failed, "\n"), tail(out.Bytes()))
	}
	return passed
}

// tail returns the end of an output.
func tail(out []byte) []byte { return out[max(0, len(out)-2<<10):] }

// results reads a report of Ginkgo.
func results(t *testing.T, report string) (passed int, failed []string) {
	t.Helper()
	text, err := os.ReadFile(report)
	if err != nil {
		t.Errorf("cannot read the report of e2e.test: %v", err)
		return 0, nil
	}
	var suites []struct {
		SpecReports []struct {
			ContainerHierarchyTexts           []string
			LeafNodeType, LeafNodeText, State string
			Failure                           struct{ Message string }
		}
	}
	if err := json.Unmarshal(text, &suites); err != nil {
		t.Errorf("cannot read the report of e2e.test: %v", err)
		return 0, nil
	}
	for _, s := range suites {
		for _, r := range s.SpecReports {
			switch {
			case r.LeafNodeType != "It", r.State == "skipped", r.State == "pending":
			case r.State == "passed":
				passed++
			default:
				name := strings.Join(append(r.ContainerHierarchyTexts, r.LeafNodeText), " ")
				failed = append(failed, fmt.Sprintf("%s: %s: %s", r.State, name, r.Failure.Message))
			}
		}
	}
	return passed, failed
}

// awaitIdle waits until no trace is open, for at most two minutes.
func awaitIdle(t *testing.T, s *harness.Server) {
	t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	harness.Eventually(t, "an idle server", func() bool {
		return s.Ready(t) && s.Open(t) == 0 || time.Now().After(deadline)
	})
}

// tracesOf returns all traces of a server.
func tracesOf(t *testing.T, s *harness.Server) []*harness.Trace {
	t.Helper()
	var out []*harness.Trace
	for _, sum := range s.List(t, nil) {
		out = append(out, s.Trace(t, sum.TraceID))
	}
	return out
}
