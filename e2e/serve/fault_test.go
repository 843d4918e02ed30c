// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// create creates a Deployment, and waits until its rollout is complete.
func create(t *testing.T, ns, name string) {
	t.Helper()
	w := &work{Interface: client(t), namespace: ns}
	if _, err := w.AppsV1().Deployments(ns).Create(
		t.Context(),
		deployment(name, 1),
		metav1.CreateOptions{},
	); err != nil {
		t.Fatal(err)
	}
	if err := w.arrive(t.Context(), name); err != nil {
		t.Fatal(err)
	}
}

// created is the outline of the trace of that.
const created = `reconcile Deployment web converged
  reconcile ReplicaSet web-A converged (owner)
    reconcile Pod web-A-* converged (owner)
      [pull image, readiness, sandbox, schedule, start container]
`

// expect checks the one trace whose root is the Deployment.
func expect(t *testing.T, s *harness.Server, ns, name string) {
	t.Helper()
	want := strings.ReplaceAll(created, "web", name)
	if got := bench.NamesIn(t, ns).Outline(s.TraceOf(t, ns, name)); got != want {
		t.Errorf("trace of %s:\n%s\nwant:\n%s\nall traces:", name, got, want)
		for _, tr := range s.Traces(t, ns) {
			t.Logf("%s:\n%s", tr.ID, outline(tr))
		}
	}
}

// TestOutlivesTheAPIServer: after a restart or crash of the API server, the traces of changes
// before and after are complete.
func TestOutlivesTheAPIServer(t *testing.T) {
	harness.Slow(t)
	for name, crash := range map[string]bool{"restart": false, "crash": true} {
		t.Run(name, func(t *testing.T) {
			ns := bench.Namespace(t)
			s := bench.Server(t, harness.ServerOptions{})
			s.Start(t)
			create(t, ns, "before")
			restartAPI(t, crash)
			create(t, ns, "after")
			s.AwaitIdle(t)
			expect(t, s, ns, "before")
			expect(t, s, ns, "after")
			s.Stop(t)
		})
	}
}

func restartAPI(t *testing.T, crash bool) {
	t.Helper()
	if crash {
		if err := bench.Kill(lab.APIServer); err != nil {
			t.Fatal(err)
		}
	}
	if err := bench.Restart(t.Context(), lab.APIServer); err != nil {
		t.Fatal(err)
	}
}

// TestTellsThatTheAPIServerIsAway: without the API server, stored traces can still be read. The
// server stays ready, and its readiness response has the problem.
func TestTellsThatTheAPIServerIsAway(t *testing.T) {
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	create(t, ns, "web")
	expect(t, s, ns, "web")
	if err := bench.Kill(lab.APIServer); err != nil {
		t.Fatal(err)
	}
	const away = "~ API server: not reached for "
	harness.Eventually(t, "a readiness response with the missing API server", func() bool {
		ready, said := s.Readiness(t)
		if !ready {
			t.Fatalf("the server is not ready: %s", said)
		}
		return strings.Contains(said, away)
	})
	if n := len(s.Traces(t, ns)); n == 0 {
		t.Error("the stored traces cannot be read")
	}
	restartAPI(t, false)
	harness.Eventually(t, "a readiness response without problems", func() bool {
		ready, said := s.Readiness(t)
		return ready && !strings.Contains(said, away)
	})
	s.Stop(t)
}

// TestTellsThatTheAPIServerHangs: the readiness response reports a hanging API server, with open
// connections but without responses, within ten seconds. It never reports an idle one.
func TestTellsThatTheAPIServerHangs(t *testing.T) {
	harness.Slow(t)
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	create(t, ns, "web")
	expect(t, s, ns, "web")
	const away = "~ API server: not reached for "
	says := func() bool {
		_, said := s.Readiness(t)
		return strings.Contains(said, away)
	}
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(250 * time.Millisecond) {
		if says() {
			t.Fatal("an idle API server is reported as not reached")
		}
	}
	if err := bench.Pause(lab.APIServer); err != nil {
		t.Fatal(err)
	}
	resume := sync.OnceValue(func() error { return bench.Resume(lab.APIServer) })
	t.Cleanup(func() { _ = resume() })
	began := time.Now()
	harness.Eventually(t, "a readiness response with the hanging API server", says)
	took := time.Since(began)
	t.Logf("the hanging API server was reported after %v", took)
	if took > 11*time.Second { // one second of tolerance for a busy machine
		t.Errorf("the hanging API server was reported after %v, want 10 s at most", took)
	}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "a readiness response without problems", func() bool { return !says() })
	create(t, ns, "after")
	expect(t, s, ns, "after")
	s.Stop(t)
}

func TestWaitsForTheAPIServer(t *testing.T) {
	ns := bench.Namespace(t)
	if err := bench.Kill(lab.APIServer); err != nil {
		t.Fatal(err)
	}
	s := bench.Server(t, harness.ServerOptions{})
	s.Begin(t)
	line := s.AwaitLog(t, "cannot ask the API server which cluster it is yet")
	if line.Level() != "WARN" || !strings.Contains(line.Field("error"), "refused") {
		t.Errorf("the log line is %v, want a warning with the refused connection", line)
	}
	if s.Ready(t) {
		t.Error("the server is ready before it has reached the API server")
	}
	restartAPI(t, false)
	s.AwaitReady(t)
	create(t, ns, "web")
	expect(t, s, ns, "web")
	s.Stop(t)
}

// TestStoppedInTheMiddle: a trace that is open at a stop of the server continues after the restart,
// and is sent once.
func TestStoppedInTheMiddle(t *testing.T) {
	ns := bench.Namespace(t)
	backend := harness.NewBackend(t)
	s := bench.Server(t, harness.ServerOptions{OTLP: backend.URL()})
	s.Start(t)
	d := deployment("web", 1)
	d.Spec.Template.Annotations = map[string]string{"lab.lifeline.dev/pull": "6s"}
	w := &work{Interface: client(t), namespace: ns}
	if _, err := w.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var id string
	harness.Eventually(t, "an open trace", func() bool {
		for _, sum := range s.List(t, map[string][]string{"namespace": {ns}, "open": {"true"}}) {
			id = sum.TraceID
		}
		return id != ""
	})
	s.Stop(t)
	s.Start(t)
	if err := w.arrive(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	expect(t, s, ns, "web")
	s.AwaitIdle(t)
	got := s.Traces(t, ns)
	if len(got) != 1 || got[id] == nil {
		t.Errorf("the server has traces %v, want only %s", harness.IDs(got), id)
	}
	once, repeated := backend.Once(t, inTraces(got))
	if repeated > 0 {
		t.Errorf("%d spans were sent more than once", repeated)
	}
	sent := map[string]*harness.Trace{}
	for _, tr := range harness.Group(once) {
		sent[tr.ID] = tr
	}
	exact(t, got, sent)
}

// TestDamagedArchive: the server sets a damaged archive aside, and logs that. An open trace continues,
// and ends in the new archive.
func TestDamagedArchive(t *testing.T) {
	harness.Slow(t)
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	create(t, ns, "old")
	expect(t, s, ns, "old")
	d := deployment("web", 1)
	d.Spec.Template.Annotations = map[string]string{"lab.lifeline.dev/pull": "30s"}
	w := &work{Interface: client(t), namespace: ns}
	if _, err := w.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var open []harness.Summary
	harness.Eventually(t, "an open trace", func() bool {
		open = s.List(t, map[string][]string{"namespace": {ns}, "open": {"true"}})
		return len(open) > 0
	})
	s.Stop(t)
	damage(t, s.Dir)
	s.Start(t)
	line := s.AwaitLog(t, "the archive was damaged")
	// Its last name is from when its traces are in the new archive.
	aside := line.Field("setAside")
	_, err := os.Stat(aside)
	_, errDone := os.Stat(aside + ".done")
	if err != nil && errDone != nil {
		t.Errorf("the log line names %q as the damaged archive: %v, %v", aside, err, errDone)
	}
	tr := s.TraceOf(t, ns, "web")
	if len(open) != 1 || tr.ID != open[0].TraceID || tr.Spans[0].Outcome() != "converged" {
		t.Errorf("the trace is now %s: %s %s; want the converged one of %v",
			tr.ID, tr.Spans[0].Name, tr.Spans[0].Outcome(), open)
	}
}

// TestLostFiles: the server detects the loss of its journal or its archive within ten seconds. Open
// traces continue without a restart, and survive a crash. The archive takes new traces.
func TestLostFiles(t *testing.T) {
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	d := deployment("web", 1)
	d.Spec.Template.Annotations = map[string]string{"lab.lifeline.dev/pull": "40s"}
	w := &work{Interface: client(t), namespace: ns}
	if _, err := w.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var open []harness.Summary
	harness.Eventually(t, "an open trace", func() bool {
		open = s.List(t, map[string][]string{"namespace": {ns}, "open": {"true"}})
		return len(open) == 1
	})
	faults := []struct {
		what string
		lose func(path string) error
	}{
		{"was deleted", os.Remove},
		{"was deleted", func(path string) error { return os.Remove(path + "-wal") }},
		{"was replaced", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("garbage"), 0o600), os.Rename(path+".new", path))
		}},
		{"was overwritten", func(path string) error {
			return os.WriteFile(path, bytes.Repeat([]byte("garbage!"), 4096), 0o600)
		}},
	}
	for _, name := range []string{"journal", "archive"} {
		for _, fault := range faults {
			path := fileOf(t, s.Dir, name)
			lines, began := len(s.Lines()), time.Now()
			if err := fault.lose(path); err != nil {
				t.Fatal(err)
			}
			line := awaitLoss(t, s, lines, name)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("a lost %s that %s was detected after %s, want at most 10 s", name, fault.what, took)
			}
			if line.Level() != "ERROR" || !strings.Contains(line.Field("error"), fault.what) ||
				!strings.Contains(line.Field("error"), path) {
				t.Errorf(
					"%s that %s: the log line is %v, want an error with the reason and path",
					name,
					fault.what,
					line,
				)
			}
			if aside := line.Field("setAside"); aside != "" {
				// The name has a suffix after the salvage.
				if found, err := filepath.Glob(aside + "*"); err != nil || len(found) == 0 {
					t.Errorf("there is no %s: %v", aside, err)
				}
			}
			harness.Eventually(t, "a new "+name, func() bool {
				return slices.ContainsFunc(s.Lines()[lines:], func(l harness.LogLine) bool {
					return l.Message() == map[string]string{
						"journal": "the journal is writable again", "archive": "archive opened",
					}[name]
				})
			})
			s.AwaitReady(t)
			if _, said := s.Readiness(t); !strings.Contains(said, fault.what) {
				t.Errorf("the readiness response does not have %q: %s", fault.what, said)
			}
			got := s.List(t, map[string][]string{"namespace": {ns}, "open": {"true"}})
			if len(got) != 1 || got[0].TraceID != open[0].TraceID {
				t.Errorf("the open traces are %v, want %v", got, open)
			}
		}
	}
	lines := len(s.Lines())
	if err := os.RemoveAll(filepath.Dir(fileOf(t, s.Dir, "journal"))); err != nil {
		t.Fatal(err)
	}
	awaitLoss(t, s, lines, "journal")
	awaitLoss(t, s, lines, "archive")
	s.AwaitReady(t)
	if got := s.Metrics(t)["lifeline_stores_lost_total"]; got != 10 {
		t.Errorf("the metric counts %v lost files, want 10", got)
	}
	s.Kill(t)
	s.Start(t)
	expect(t, s, ns, "web")
	s.AwaitIdle(t)
	if got := s.Traces(t, ns); len(got) != 1 || got[open[0].TraceID] == nil {
		t.Errorf("the server has traces %v, want only %s", harness.IDs(got), open[0].TraceID)
	}
	s.Stop(t)
}

// awaitLoss waits for the log line about the loss of a file, after the first lines.
func awaitLoss(t *testing.T, s *harness.Server, lines int, name string) (line harness.LogLine) {
	t.Helper()
	harness.Eventually(t, "a log line about the lost "+name, func() bool {
		for _, l := range s.Lines()[lines:] {
			if strings.Contains(l.Message(), "the "+name+" was lost") {
				line = l
			}
		}
		return line != nil
	})
	return line
}

// fileOf returns the path of the only journal or archive in a data directory.
func fileOf(t *testing.T, dir, name string) string {
	t.Helper()
	file := map[string]string{"journal": "journal.db", "archive": "lifeline.db"}[name]
	found, err := filepath.Glob(filepath.Join(dir, "*", file))
	if err != nil || len(found) != 1 {
		t.Fatalf("files %s in %s: %v %v", file, dir, found, err)
	}
	return found[0]
}

// damage writes garbage over the middle of the archive.
func damage(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(fileOf(t, dir, "archive"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	size, err := f.Seek(0, 2)
	if err == nil {
		_, err = f.WriteAt([]byte(strings.Repeat("garbage!", int(size/2/8))), size/4)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestFullDisk: with a full disk, the server is not ready, and logs why. After the disk has space
// again, all traces are complete.
func TestFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("SKIP: a small disk needs root to be mounted")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skip("SKIP: cannot mount a small disk:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{Dir: dir})
	s.Start(t)
	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	w := &work{Interface: client(t), namespace: ns}
	for _, name := range []string{"a", "b", "c"} {
		if _, err := w.AppsV1().Deployments(ns).Create(
			t.Context(),
			deployment(name, 2),
			metav1.CreateOptions{},
		); err != nil {
			t.Fatal(err)
		}
	}
	line := s.AwaitLog(t, "cannot store the observations")
	if !strings.Contains(line.Field("do"), "make room on the disk") {
		t.Errorf("the log line is %v, want one with the remedy", line)
	}
	if s.Ready(t) {
		t.Error("the server is ready while its disk is full")
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := w.arrive(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.AwaitLog(t, "the journal is writable again")
	for _, name := range []string{"a", "b", "c"} {
		tr := s.TraceOf(t, ns, name)
		if pods := len(tr.Find("reconcile Pod", "")); pods != 2 || tr.Spans[0].Outcome() != "converged" {
			t.Errorf("the trace of %s has %d Pods and is %s, want 2 and converged", name, pods, tr.Spans[0].Outcome())
		}
	}
	s.Stop(t)
}

// TestFullDiskAndAuditWebhook: with a full disk, the server refuses audit batches at once, and
// counts none as accepted. The API server retries, and no event is lost.
func TestFullDiskAndAuditWebhook(t *testing.T) {
	harness.Slow(t)
	if os.Getuid() != 0 {
		t.Skip("SKIP: a small disk needs root to be mounted")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skip("SKIP: cannot mount a small disk:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	ns, address := bench.Namespace(t), harness.Free(t)
	s := bench.Server(
		t,
		harness.ServerOptions{Dir: dir, Config: fmt.Sprintf("receivers: {audit: {webhook: {address: %q}}}\n", address)},
	)
	s.Start(t)
	sink := func(url string) error {
		return bench.Reconfigure(context.WithoutCancel(t.Context()), func(o *lab.Options) { o.AuditWebhook = url })
	}
	if err := sink("http://" + address); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := sink(""); err != nil {
			t.Error(err)
		}
	}()
	const (
		written = `lifeline_audit_events_total{what="write"}`
		refused = `lifeline_audit_events_total{what="refused 429"}`
	)
	create(t, ns, "first")
	harness.Eventually(t, "audit events", func() bool { return s.Metrics(t)[written] > 0 })

	filler := filepath.Join(dir, "filler")
	fill(t, filler)
	w := &work{Interface: client(t), namespace: ns}
	names := []string{"a", "b", "c"}
	for _, name := range names {
		if _, err := w.AppsV1().Deployments(ns).Create(
			t.Context(),
			deployment(name, 2),
			metav1.CreateOptions{},
		); err != nil {
			t.Fatal(err)
		}
	}
	harness.Eventually(t, "refused batches", func() bool { fill(t, filler+"2"); return s.Metrics(t)[refused] > 0 })
	before, began := s.Metrics(t), time.Now()
	// The API server would not send these if the server delayed its responses.
	harness.Eventually(t, "more refused batches", func() bool { return s.Metrics(t)[refused] > before[refused]+2 })
	t.Logf("three more batches were refused within %v", time.Since(began))
	if after := s.Metrics(t)[written]; after != before[written] {
		t.Errorf("%v writes are counted as accepted while the disk is full", after-before[written])
	}
	for _, name := range names {
		if err := w.arrive(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{filler, filler + "2"} {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
	s.AwaitLog(t, "the journal is writable again")
	for _, name := range names {
		harness.Eventually(t, "the audit event of Deployment "+name, func() bool {
			created := s.TraceOf(t, ns, name).Find("create Deployment", "")
			return slices.ContainsFunc(
				created,
				func(sp *harness.Span) bool { return sp.Attributes["k8s.audit_id"] != "" },
			)
		})
	}
	s.Stop(t)
}

// fill writes a file until the disk is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}
