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

// refused starts a server that ends by itself, and returns what it said.
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
			"the field and the address are named",
			harness.ServerOptions{Args: []string{"--api-address", taken.Addr().String()}},
			[]string{"api.address", taken.Addr().String(), "in use"},
		},
		"open API": {
			"the field and what to set are named", harness.ServerOptions{Args: []string{"--api-address", ":0"}},
			[]string{"api.address", "api.tls", "api.insecure"},
		},
		"telemetry's port in use": {
			"the field and the address are named",
			harness.ServerOptions{Args: []string{"--telemetry-address", taken.Addr().String()}},
			[]string{"telemetry.address", taken.Addr().String(), "in use"},
		},
		"unknown field": {
			"the field, the file and the line are named", harness.ServerOptions{Config: "engine: {setle: 3s}\n"},
			[]string{"setle", "lifeline.yaml:4"},
		},
		"value that is not allowed": {
			"the field is named", harness.ServerOptions{Config: "sampling: {ratePerMillion: 2000000}\n"},
			[]string{"sampling.ratePerMillion"},
		},
		"directory that is a file": {
			"dataDir is named", harness.ServerOptions{Dir: file}, []string{"dataDir", file},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			said := refused(t, bench.Server(t, tt.options))
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in what it said: %s\n%s", want, tt.reason, said)
				}
			}
		})
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	dir := t.TempDir()
	if os.Getuid() == 0 { // whom permissions do not stop
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_RDONLY, ""); err != nil {
			t.Skip("SKIP: cannot mount a disk that is read-only:", err)
		}
		t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	} else if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if said := refused(
		t,
		bench.Server(t, harness.ServerOptions{Dir: dir}),
	); !strings.Contains(said, dir) ||
		!strings.Contains(said, "dataDir") {
		t.Errorf("it does not name the directory and dataDir:\n%s", said)
	}
}

func TestSecondServerOnOneDirectory(t *testing.T) {
	first := bench.Server(t, harness.ServerOptions{})
	first.Start(t)
	said := refused(t, bench.Server(t, harness.ServerOptions{Dir: first.Dir}))
	if !strings.Contains(said, "another lifeline serve has this store") || !strings.Contains(said, first.Dir) {
		t.Errorf("it does not say that another has the store:\n%s", said)
	}
	first.Stop(t)
}

// A configuration that is wrong changes nothing, and one that is right takes
// effect: with a rate of 0 nothing new is kept.
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
		t.Errorf("it says %v", line)
	}
	s.Configure(t, "watch: {exclude: [configmaps]}\n")
	s.Signal(t, syscall.SIGHUP)
	s.AwaitLog(t, "changes fields that need a restart of the server: watch.exclude")
	if got := reloads(t, s); got["taken"] != 0 || got["refused"] < 2 {
		t.Errorf("reloads counted: %v", got)
	}
	create(t, ns, "between")
	s.TraceOf(t, ns, "between")

	s.Configure(t, "sampling: {ratePerMillion: 0}\n")
	s.Signal(t, syscall.SIGHUP)
	if line := s.AwaitLog(
		t,
		"configuration taken over",
	); !strings.Contains(
		line.Field("changed"),
		"sampling.ratePerMillion",
	) {
		t.Errorf("it says %v", line)
	}
	create(t, ns, "after")
	harness.Eventually(t, "a trace being left out", func() bool {
		return s.Metrics(t)["lifeline_traces_sampled_out_total"] > 0
	})
	s.AwaitIdle(t)
	for _, tr := range s.Traces(t, ns) {
		if tr.Spans[0].Object() == "after" {
			t.Errorf("with a rate of 0 this was kept:\n%s", outline(tr))
		}
	}
	if got := reloads(t, s); got["taken"] != 1 {
		t.Errorf("reloads counted: %v", got)
	}
	s.Stop(t)
}

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

// A client of the stream that never reads is cut off, and holds up nobody.
func TestClientThatNeverReads(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP in short mode: it takes much to fill the buffers of a connection")
	}
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.APIAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// A small window fills early.
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
	harness.Eventually(t, "the client being cut off", func() bool {
		return s.Metrics(t)["lifeline_api_streams_cut_total"] == 1
	})
	t.Logf("cut off after at most %s", time.Since(began).Round(time.Second))
	s.AwaitIdle(t)
	s.Stop(t)
}
