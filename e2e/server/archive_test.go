// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// archive runs lifeline archive on a data directory.
func archive(t *testing.T, dataDir string, args ...string) harness.Result {
	t.Helper()
	r := bench.Do(t, harness.Call{Args: append([]string{"archive", "--data-dir", dataDir}, args...)})
	if r.Code != 0 {
		t.Fatalf("lifeline archive %s: code %d\n%s", strings.Join(args, " "), r.Code, r.Stderr)
	}
	return r
}

// documents returns the API's documents of traces, by ID.
func documents(t *testing.T, s *harness.Server, ids []string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, id := range ids {
		code, body, err := harness.Get(t.Context(), "http://"+s.APIAddress()+"/api/v1/traces/"+id)
		if err != nil || code != http.StatusOK {
			t.Fatalf("trace %s: %d, %v\n%s", id, code, err, body)
		}
		out[id] = string(body)
	}
	return out
}

// listed returns the rows of lifeline ls for traces, with their times.
func listed(t *testing.T, s *harness.Server, ids []string) string {
	t.Helper()
	r := bench.Do(t, asking(s, "ls", "-A", "-o", "wide", "--limit", "0"))
	var out strings.Builder
	for line := range strings.Lines(r.Stdout) {
		for _, id := range ids {
			if strings.Contains(line, id) {
				out.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
			}
		}
	}
	return out.String()
}

// TestArchive exports and copies the archive of a running server, and gives both to other servers,
// which then show the same traces. Then one removes a namespace, and retention keeps a pinned trace.
func TestArchive(t *testing.T) {
	ns, kept := bench.Namespace(t), bench.Namespace(t)
	s := serve(t, harness.ServerOptions{})
	apply(t, deployment(ns, "web", "1", 2))
	bench.MustKubectl(t, "", "-n", kept, "create", "configmap", "kept", "--from-literal=a=b")
	web, config := s.TraceOf(t, ns, "web"), s.TraceOf(t, kept, "kept")
	s.AwaitIdle(t)
	if r := archive(t, s.Dir, "pin", config.ID[:8]); !strings.Contains(r.Stdout, "pinned "+config.ID) {
		t.Errorf("pin printed %q", r.Stdout)
	}
	if rows := listed(t, s, []string{config.ID}); !strings.Contains(rows, "(pinned)") {
		t.Errorf("ls shows no pin: %q", rows)
	}
	files := t.TempDir()
	lines, copied := filepath.Join(files, "traces.jsonl.gz"), filepath.Join(files, "lifeline.db")
	archive(t, s.Dir, "export", "-o", lines)
	archive(t, s.Dir, "backup", copied)
	var ids []string
	for _, sum := range s.List(t, nil) {
		ids = append(ids, sum.TraceID)
	}
	want, rows := documents(t, s, ids), listed(t, s, ids)
	// After the end of the server, the command opens the archive itself.
	s.Stop(t)
	clusters, err := os.ReadDir(s.Dir)
	if err != nil || len(clusters) != 1 {
		t.Fatalf("%v, %v", clusters, err)
	}
	if got := archive(t, s.Dir, "export", "--namespace", ns).Stdout; !strings.Contains(got, web.ID) ||
		strings.Contains(got, config.ID) {
		t.Error("the export of a namespace has other traces")
	}

	imported, restored := t.TempDir(), t.TempDir()
	archive(t, imported, "import", lines)
	if err := os.Mkdir(filepath.Join(restored, clusters[0].Name()), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(copied, filepath.Join(restored, clusters[0].Name(), "lifeline.db")); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"imported": imported, "restored": restored} {
		t.Run(name, func(t *testing.T) {
			again := serve(t, harness.ServerOptions{Dir: dir})
			if diff := cmp.Diff(want, documents(t, again, ids)); diff != "" {
				t.Errorf("-of the first server +of this one:\n%s", diff)
			}
			if diff := cmp.Diff(rows, listed(t, again, ids)); diff != "" {
				t.Errorf("-of the first server +of this one:\n%s", diff)
			}
			again.Stop(t)
		})
	}
	t.Run("forget", func(t *testing.T) { forget(t, imported, ns, web.ID, config.ID) })
	t.Run("retention", func(t *testing.T) { retention(t, restored, config.ID) })
}

// forget removes a namespace from the archive of a running server.
func forget(t *testing.T, dir, ns, gone, stays string) {
	t.Helper()
	s := serve(t, harness.ServerOptions{Dir: dir})
	refused := bench.Do(t, harness.Call{Args: []string{"archive", "--data-dir", dir, "forget", "-n", ns}})
	if refused.Code != 1 || !strings.Contains(refused.Stderr, "add --yes") {
		t.Errorf("without a confirmation: code %d\n%s", refused.Code, refused.Stderr)
	}
	r := archive(t, dir, "forget", "--namespace", ns, "--yes")
	if !strings.Contains(r.Stdout, "removed ") || !strings.Contains(r.Stderr, "Open traces") {
		t.Errorf("forget printed %q, %q", r.Stdout, r.Stderr)
	}
	if left := s.List(t, url.Values{"namespace": {ns}}); len(left) > 0 {
		t.Errorf("left %+v", left)
	}
	if code, _, err := harness.Get(t.Context(), "http://"+s.APIAddress()+"/api/v1/traces/"+gone); err != nil ||
		code != http.StatusNotFound {
		t.Errorf("a removed trace: %d, %v", code, err)
	}
	documents(t, s, []string{stays})
	s.AwaitLog(t, "a namespace was removed from the archive")
	s.Kill(t)
	left, err := filepath.Glob(filepath.Join(dir, "*", "archive.sock"))
	if err != nil || len(left) != 1 {
		t.Errorf("sockets %v, %v", left, err)
	}
	s.Start(t) // in place of the killed server's socket
	archive(t, dir, "unpin", stays)
	s.Stop(t)
	if left, _ := filepath.Glob(filepath.Join(dir, "*", "archive.sock")); len(left) > 0 {
		t.Errorf("a server that ended left %v", left)
	}
}

// retention removes all traces except the pinned one.
func retention(t *testing.T, dir, pinned string) {
	t.Helper()
	harness.Slow(t) // the server looks once a minute
	s := serve(t, harness.ServerOptions{Dir: dir, Config: "retention: {age: 1ms, outcomes: {failed: 1ms}}\n"})
	harness.Within(t, 3*time.Minute, "the removal of old traces", func() bool {
		return len(s.List(t, url.Values{"until": {"1m"}})) == 1
	})
	documents(t, s, []string{pinned})
	s.Stop(t)
}
