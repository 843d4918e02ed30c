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

// create makes a Deployment and waits until it has arrived.
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

// created is what a server has of that.
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

// What happens before, while and after the API server is away is all there.
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

// While the API server is away what is stored can be read, so the server stays
// ready, and says what is wrong.
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
	harness.Eventually(t, "it saying that the API server is away", func() bool {
		ready, said := s.Readiness(t)
		if !ready {
			t.Fatalf("it is not ready: %s", said)
		}
		return strings.Contains(said, away)
	})
	if n := len(s.Traces(t, ns)); n == 0 {
		t.Error("what is stored cannot be read")
	}
	restartAPI(t, false)
	harness.Eventually(t, "it saying so no more", func() bool {
		ready, said := s.Readiness(t)
		return ready && !strings.Contains(said, away)
	})
	s.Stop(t)
}

// TestTellsThatTheAPIServerHangs: an API server that keeps its connections and
// answers nothing shows after ten seconds, and an idle one never does.
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
			t.Fatal("an idle API server counts as away")
		}
	}
	if err := bench.Pause(lab.APIServer); err != nil {
		t.Fatal(err)
	}
	resume := sync.OnceValue(func() error { return bench.Resume(lab.APIServer) })
	t.Cleanup(func() { _ = resume() })
	began := time.Now()
	harness.Eventually(t, "it saying that the API server is away", says)
	took := time.Since(began)
	t.Logf("it said so after %v", took)
	if took > 11*time.Second { // one for the machine
		t.Errorf("it said so after %v, want 10 s at most", took)
	}
	if err := resume(); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "it saying so no more", func() bool { return !says() })
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
		t.Errorf("it says %v", line)
	}
	if s.Ready(t) {
		t.Error("it says that it is ready")
	}
	restartAPI(t, false)
	s.AwaitReady(t)
	create(t, ns, "web")
	expect(t, s, ns, "web")
	s.Stop(t)
}

// A trace that is under way when the server stops goes on after its start, and
// is sent once.
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
		t.Errorf("it has traces %v, want %s alone", harness.IDs(got), id)
	}
	once, repeated := backend.Once(t, inTraces(got))
	if repeated > 0 {
		t.Errorf("%d spans were sent again", repeated)
	}
	sent := map[string]*harness.Trace{}
	for _, tr := range harness.Group(once) {
		sent[tr.ID] = tr
	}
	exact(t, got, sent)
}

// A store that is damaged is set aside, which is said, and what is under way
// comes up again.
func TestDamagedStore(t *testing.T) {
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
	line := s.AwaitLog(t, "the store was damaged")
	if _, err := os.Stat(line.Field("setAside")); err != nil {
		t.Errorf("it names %q: %v", line.Field("setAside"), err)
	}
	tr := s.TraceOf(t, ns, "web")
	if len(open) != 1 || tr.ID != open[0].TraceID || tr.Spans[0].Outcome() != "converged" {
		t.Errorf("trace %s came up again as %s %s, before %v", tr.ID, tr.Spans[0].Name, tr.Spans[0].Outcome(), open)
	}
}

// A store that is lost while the server runs is noticed within ten seconds. What
// was open is stored again, without a restart, and outlives a crash.
func TestLostStore(t *testing.T) {
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
	for _, fault := range []struct {
		what string
		lose func(path string) error
	}{
		{"was deleted", os.Remove},
		{"was deleted", func(path string) error { return os.RemoveAll(filepath.Dir(path)) }},
		{"was deleted", func(path string) error { return os.Remove(path + "-wal") }},
		{"was replaced", func(path string) error {
			return errors.Join(os.WriteFile(path+".new", []byte("garbage"), 0o600), os.Rename(path+".new", path))
		}},
		{"was overwritten", func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte("garbage!"), 4096), 0o600) }},
	} {
		path := database(t, s.Dir)
		lines, began := len(s.Lines()), time.Now()
		if err := fault.lose(path); err != nil {
			t.Fatal(err)
		}
		var line harness.LogLine
		harness.Eventually(t, "the log naming the store that "+fault.what, func() bool {
			for _, l := range s.Lines()[lines:] {
				if strings.Contains(l.Message(), "the store was lost") {
					line = l
				}
			}
			return line != nil
		})
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it was noticed after %s", took)
		}
		if line.Level() != "ERROR" || !strings.Contains(line.Field("error"), fault.what) ||
			!strings.Contains(line.Field("error"), path) {
			t.Errorf("a store that %s: it says %v", fault.what, line)
		}
		if aside := line.Field("setAside"); aside != "" {
			if _, err := os.Stat(aside); err != nil {
				t.Error(err)
			}
		}
		s.AwaitReady(t)
		if _, said := s.Readiness(t); !strings.Contains(said, fault.what) {
			t.Errorf("readiness does not mention it: %s", said)
		}
		harness.Eventually(t, "the open trace in the new store", func() bool {
			got := s.List(t, map[string][]string{"namespace": {ns}})
			return len(got) == 1 && got[0].TraceID == open[0].TraceID
		})
	}
	if got := s.Metrics(t)["lifeline_stores_lost_total"]; got != 5 {
		t.Errorf("%v lost stores are counted, want 5", got)
	}
	s.Kill(t)
	s.Start(t)
	expect(t, s, ns, "web")
	s.AwaitIdle(t)
	if got := s.Traces(t, ns); len(got) != 1 || got[open[0].TraceID] == nil {
		t.Errorf("it has traces %v, want %s alone", harness.IDs(got), open[0].TraceID)
	}
	s.Stop(t)
}

// database is the path of the only database in a data directory.
func database(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*", "lifeline.db"))
	if err != nil || len(found) != 1 {
		t.Fatalf("databases in %s: %v %v", dir, found, err)
	}
	return found[0]
}

// damage writes garbage over the middle of the database.
func damage(t *testing.T, dir string) {
	t.Helper()
	f, err := os.OpenFile(database(t, dir), os.O_RDWR, 0)
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

// A disk that is full costs nothing but time.
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
	line := s.AwaitLog(t, "cannot store what was seen")
	if !strings.Contains(line.Field("do"), "make room on the disk") {
		t.Errorf("it says %v", line)
	}
	if s.Ready(t) {
		t.Error("it says that it is ready while its disk is full")
	}
	for _, name := range []string{"a", "b", "c"} {
		if err := w.arrive(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.AwaitLog(t, "the store can be written to again")
	for _, name := range []string{"a", "b", "c"} {
		tr := s.TraceOf(t, ns, name)
		if pods := len(tr.Find("reconcile Pod", "")); pods != 2 || tr.Spans[0].Outcome() != "converged" {
			t.Errorf("trace of %s has %d Pods and is %s", name, pods, tr.Spans[0].Outcome())
		}
	}
	s.Stop(t)
}

// TestFullDiskAndAuditWebhook: a server whose disk is full refuses audit batches at
// once and counts none as taken; the API server sends them again, and none is lost.
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
	const written, refused = `lifeline_audit_events_total{what="write"}`, `lifeline_audit_events_total{what="refused 429"}`
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
	// Held requests would not be answered in this time.
	harness.Eventually(t, "more refused batches", func() bool { return s.Metrics(t)[refused] > before[refused]+2 })
	t.Logf("three more batches were refused within %v", time.Since(began))
	if after := s.Metrics(t)[written]; after != before[written] {
		t.Errorf("%v writes count as taken while nothing can be stored", after-before[written])
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
	s.AwaitLog(t, "the store can be written to again")
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

// fill writes until there is no room.
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
