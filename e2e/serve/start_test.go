// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// refused starts a server that must fail, and returns its standard error.
func refused(t *testing.T, s *harness.Server) string {
	t.Helper()
	s.Begin(t)
	r := s.Ended(t)
	if r.Code != 1 {
		t.Errorf("exit code %d, want 1\n%s", r.Code, r.Stderr)
	}
	return r.Stderr
}

func TestCannotStart(t *testing.T) {
	taken, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		reason  string
		options harness.ServerOptions
		want    []string
	}{
		"port in use": {
			"the error has the field and the address",
			harness.ServerOptions{Args: []string{"--api-address", taken.Addr().String()}},
			[]string{"api.address", taken.Addr().String(), "in use"},
		},
		"open API": {
			"the error has the field and the remedy", harness.ServerOptions{Args: []string{"--api-address", ":0"}},
			[]string{"api.address", "api.tls", "api.tokenFile"},
		},
		"telemetry's port in use": {
			"the error has the field and the address",
			harness.ServerOptions{Args: []string{"--telemetry-address", taken.Addr().String()}},
			[]string{"telemetry.address", taken.Addr().String(), "in use"},
		},
		"unknown field": {
			"the error has the field, the file and the line", harness.ServerOptions{Config: "engine: {setle: 3s}\n"},
			[]string{"setle", "lifeline.yaml:4"},
		},
		"value that is not allowed": {
			"the error has the field", harness.ServerOptions{Config: "sampling: {ratePerMillion: 2000000}\n"},
			[]string{"sampling.ratePerMillion"},
		},
		"directory that is a file": {
			"the error has dataDir and the path", harness.ServerOptions{Dir: file}, []string{"dataDir", file},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			said := refused(t, bench.Server(t, tt.options))
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("%s: want %q in:\n%s", tt.reason, want, said)
				}
			}
		})
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	if os.Getuid() == 0 { // permissions do not stop root
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
			t.Skip("SKIP: cannot mount a read-only disk:", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	} else if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if said := refused(t, bench.Server(t, harness.ServerOptions{Dir: dir})); !strings.Contains(said, dir) ||
		!strings.Contains(said, "dataDir") {
		t.Errorf("the error does not have the folder and dataDir:\n%s", said)
	}
}

func TestSecondServerOnOneDirectory(t *testing.T) {
	first := bench.Server(t, harness.ServerOptions{})
	first.Start(t)
	said := refused(t, bench.Server(t, harness.ServerOptions{Dir: first.Dir}))
	if !strings.Contains(said, "another lifeline serve has this data directory") || !strings.Contains(said, first.Dir) {
		t.Errorf("the error does not have the other server and the folder:\n%s", said)
	}
	first.Stop(t)
}

// TestReload: an invalid configuration changes nothing, and a valid one takes effect. With a
// sampling rate of 0, no new trace is stored.
func TestReload(t *testing.T) {
	harness.Slow(t)
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	create(t, ns, "before")
	s.TraceOf(t, ns, "before")

	s.Configure(t, "sampling: {ratePerMillion: -1}\n")
	s.Signal(t, syscall.SIGHUP)
	line := s.AwaitLog(t, "cannot reload the configuration, the old one stays")
	if line.Level() != "ERROR" || !strings.Contains(line.Message(), "sampling.ratePerMillion") {
		t.Errorf("the log line is %v, want an error with sampling.ratePerMillion", line)
	}
	s.Configure(t, "watch: {exclude: [configmaps]}\n")
	s.Signal(t, syscall.SIGHUP)
	s.AwaitLog(t, "changes fields that need a restart of the server: watch.exclude")
	if got := reloads(t, s); got["taken"] != 0 || got["refused"] < 2 {
		t.Errorf("the metric counts reloads %v, want none taken and at least 2 refused", got)
	}
	create(t, ns, "between")
	s.TraceOf(t, ns, "between")

	s.Configure(t, "sampling: {ratePerMillion: 0}\n")
	s.Signal(t, syscall.SIGHUP)
	if line := s.AwaitLog(t, "configuration taken over"); !strings.Contains(
		line.Field("changed"),
		"sampling.ratePerMillion",
	) {
		t.Errorf("the log line is %v, want sampling.ratePerMillion in changed", line)
	}
	create(t, ns, "after")
	harness.Eventually(t, "a trace that is not sampled", func() bool {
		return s.Metrics(t)["lifeline_traces_sampled_out_total"] > 0
	})
	s.AwaitIdle(t)
	for _, tr := range s.Traces(t, ns) {
		if tr.Spans[0].Object() == "after" {
			t.Errorf("with a sampling rate of 0, this trace is stored:\n%s", outline(tr))
		}
	}
	if got := reloads(t, s); got["taken"] != 1 {
		t.Errorf("the metric counts reloads %v, want 1 taken", got)
	}
	s.Stop(t)
}

// reloads returns the number of reloads by result.
func reloads(t *testing.T, s *harness.Server) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for name, value := range s.Metrics(t) {
		if rest, ok := strings.CutPrefix(name, `lifeline_config_reloads_total{result="`); ok {
			out[strings.TrimSuffix(rest, `"}`)] = value
		}
	}
	return out
}

// TestClientThatNeverReads: the server cuts off a client of its stream that never reads. It does
// not delay the server.
func TestClientThatNeverReads(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP in short mode: filling the buffers of a connection takes long")
	}
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.APIAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A small buffer is full earlier.
	if err := conn.(*net.TCPConn).SetReadBuffer(4096); err != nil { //nolint:forcetypeassert // tcp
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /api/v1/watch HTTP/1.1\r\nHost: localhost\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	w := &work{Interface: client(t), namespace: ns, deployments: 8, rollouts: 6, atOnce: 8, seed: seed}
	began := time.Now()
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, "a stream cut in the server's metrics", func() bool {
		return s.Metrics(t)["lifeline_api_streams_cut_total"] == 1
	})
	t.Logf("cut off after at most %s", time.Since(began).Round(time.Second))
	s.AwaitIdle(t)
	s.Stop(t)
}
