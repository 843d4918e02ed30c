// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMain makes this program a scheduler if the variable FAKE_SCHEDULER is set.
func TestMain(m *testing.M) {
	if os.Getenv("FAKE_SCHEDULER") == "" {
		os.Exit(m.Run())
	}
	if err := fakeScheduler(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// fakeScheduler prints its configuration, writes its certificate, and is ready.
func fakeScheduler() error {
	config := flag.String("config", "", "")
	host := flag.String("bind-address", "", "")
	port := flag.String("secure-port", "", "")
	dir := flag.String("cert-dir", "", "")
	flag.Parse()
	configuration, err := os.ReadFile(*config)
	if err != nil {
		return err
	}
	if string(configuration) == "invalid" {
		return fmt.Errorf("%s is invalid", *config)
	}
	fmt.Println("runs", string(configuration))
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	example := httptest.NewUnstartedServer(handler) // its certificate is for 127.0.0.1
	example.StartTLS()
	certificate := example.TLS.Certificates[0]
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	if err := os.WriteFile(filepath.Join(*dir, "kube-scheduler.crt"), text, 0o600); err != nil {
		return err
	}
	l, err := tls.Listen("tcp", *host+":"+*port, &tls.Config{Certificates: []tls.Certificate{certificate}})
	if err != nil {
		return err
	}
	return http.Serve(l, handler)
}

// newScheduler returns a scheduler that is this program. output returns what its processes printed.
func newScheduler(t *testing.T) (s *Scheduler, output func() string, exited chan struct{}) {
	t.Helper()
	t.Setenv("FAKE_SCHEDULER", "1")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	exited = make(chan struct{}, 8)
	s = &Scheduler{Program: program, Dir: t.TempDir(), Log: log, Exited: func() { exited <- struct{}{} }}
	t.Cleanup(s.Stop)
	return s, func() string {
		text, err := os.ReadFile(log.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}, exited
}

func run(t *testing.T, s *Scheduler, configuration string) *child {
	t.Helper()
	if err := s.Run(t.Context(), configuration); err != nil {
		t.Fatal(err)
	}
	if !s.runs(configuration) {
		t.Fatalf("the scheduler must run with %s", configuration)
	}
	return s.child
}

// TestReplaces: one process runs at a time, and the same configuration starts no second one.
func TestReplaces(t *testing.T) {
	s, output, exited := newScheduler(t)
	first := run(t, s, "a")
	if again := run(t, s, "a"); again != first {
		t.Error("the same configuration started another process")
	}
	second := run(t, s, "b")
	if !first.ended() || second.ended() || s.runs("a") {
		t.Error("the second process must run alone")
	}
	s.Stop()
	if !second.ended() || s.runs("b") {
		t.Error("no process may run after Stop")
	}
	if got := output(); got != "runs a\nruns b\n" {
		t.Errorf("the processes printed %q", got)
	}
	if len(exited) > 0 {
		t.Error("Exited must not be called for a wanted end")
	}
}

// TestExit: an exit is reported, and the next Run starts a new process.
func TestExit(t *testing.T) {
	s, output, exited := newScheduler(t)
	first := run(t, s, "a")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-exited
	if s.runs("a") {
		t.Error("the killed process must not count as running")
	}
	run(t, s, "a")
	if got := output(); got != "runs a\nruns a\n" {
		t.Errorf("the processes printed %q", got)
	}
}

// TestNotReady: a process that ends before it is ready is an error.
func TestNotReady(t *testing.T) {
	s, output, exited := newScheduler(t)
	err := s.Run(t.Context(), "invalid")
	if err == nil || !strings.Contains(err.Error(), "exit status 1") || s.runs("invalid") ||
		!strings.Contains(err.Error(), "scheduler.yaml is invalid") {
		t.Errorf("got the error %v", err)
	}
	if !strings.Contains(output(), "is invalid") {
		t.Errorf("the log has %q", output())
	}
	if len(exited) > 0 {
		t.Error("Exited must not be called for an error of Run")
	}
}

// TestLastLine: the reason of an end is one bounded line, and the same after each start.
func TestLastLine(t *testing.T) {
	cases := map[string]struct{ log, want string }{
		"Empty": {},
		"Klog": {
			"I1127 14:37:18.042121   16369 a.go:1] first\n" +
				`E1127 14:37:18.042121   16369 run.go:72] "failed" err="x] y"` + "\n",
			`"failed" err="x] y"`,
		},
		"Plain":   {"one\ntwo\n\n", "two"},
		"Long":    {"one\n" + strings.Repeat("x", 600), strings.Repeat("x", limit)},
		"Longest": {strings.Repeat("ä", 5000), strings.Repeat("ä", limit/2)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var c tail
			for _, part := range strings.SplitAfter(tc.log, " ") {
				if n, err := c.Write([]byte(part)); n != len(part) || err != nil {
					t.Fatalf("%d bytes written, %v", n, err)
				}
			}
			if got := c.line(); got != tc.want {
				t.Errorf("the last line is %q, want %q", got, tc.want)
			}
		})
	}
}

// TestInterval: the end of a young scheduler is not reported at once. A new one replaces the report.
func TestInterval(t *testing.T) {
	s, _, exited := newScheduler(t)
	s.Interval = time.Hour
	first := run(t, s, "a")
	if err := first.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-first.done
	if s.runs("a") {
		t.Error("the killed process must not count as running")
	}
	run(t, s, "a")
	if !s.runs("a") || len(exited) > 0 {
		t.Error("a scheduler must run, and no end may be reported")
	}
}

// TestClosed: after the manager's end, nothing starts.
func TestClosed(t *testing.T) {
	s, _, _ := newScheduler(t)
	only := run(t, s, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if !only.ended() {
		t.Error("the process must end with the manager")
	}
	if err := s.Run(t.Context(), "b"); err == nil || s.child != nil {
		t.Errorf("a process started after the manager's end, with the error %v", err)
	}
}
