// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ServerOptions are the options of one `lifeline serve`. The zero value watches
// the administrator's cluster, with a new data directory, and sends no spans.
type ServerOptions struct {
	// Dir is the data directory; empty means a new one.
	Dir string
	// Config is added to the configuration file, in YAML: whole fields of the
	// top level but dataDir, api.address, telemetry.address and log.
	Config string
	// OTLP is where spans go; empty means nowhere.
	OTLP string
	// Kubeconfig is the path of another kubeconfig than the administrator's.
	Kubeconfig string
	// Args are further arguments; they win.
	Args []string
	// Env are further variables; they win.
	Env []string
}

// Server is a `lifeline serve` that can be stopped and started again. Each start
// is a new process on the same data directory.
type Server struct {
	// Dir is the data directory, File the configuration file.
	Dir, File string
	// Binary is the path of the lifeline of the next start; empty means the bench's.
	Binary string

	bench   *Bench
	options ServerOptions
	// process is the present one, past what those before it have logged.
	process *Process
	past    strings.Builder
	// api and telemetry are the addresses of the present one.
	api, telemetry string
}

// Server is a server that has not been started.
func (b *Bench) Server(t testing.TB, o ServerOptions) *Server {
	t.Helper()
	s := &Server{bench: b, options: o, Dir: o.Dir, File: filepath.Join(t.TempDir(), "lifeline.yaml")}
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	s.Configure(t, o.Config)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s logged:\n%s", s.File, s.Log())
		}
	})
	return s
}

// Configure replaces the configuration file; see ServerOptions.Config. A running
// server reads it some seconds later, or at SIGHUP.
func (s *Server) Configure(t testing.TB, config string) {
	t.Helper()
	text := "apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\nlog: {format: json, level: info}\n" + config
	// A file that is replaced is never seen half written.
	if err := os.WriteFile(s.File+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.File+".new", s.File); err != nil {
		t.Fatal(err)
	}
}

// Begin starts the server and does not wait for anything.
func (s *Server) Begin(t testing.TB) {
	t.Helper()
	if s.process != nil {
		s.past.WriteString(s.process.Stderr())
	}
	args := []string{
		"serve",
		"--config",
		s.File,
		"--data-dir",
		s.Dir,
		"--api-address",
		"127.0.0.1:0",
		"--telemetry-address",
		"127.0.0.1:0",
	}
	if s.options.OTLP != "" {
		args = append(args, "--otlp", s.options.OTLP)
	}
	s.api, s.telemetry = "", ""
	s.process = s.bench.Begin(t, Call{
		Args:       append(args, s.options.Args...),
		Binary:     s.Binary,
		Kubeconfig: s.options.Kubeconfig,
		Env:        s.options.Env,
		Patience:   serverPatience,
	})
}

// serverPatience is how long a server of a test may run.
const serverPatience = time.Hour

// Start starts the server and waits until it is ready.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	s.Begin(t)
	s.AwaitReady(t)
}

// AwaitReady waits until the server says that it is ready.
func (s *Server) AwaitReady(t testing.TB) {
	t.Helper()
	Eventually(t, "the server being ready", func() bool {
		s.running(t)
		return s.Ready(t)
	})
}

// Ready reports whether it says so now.
func (s *Server) Ready(t testing.TB) bool {
	t.Helper()
	ready, _ := s.Readiness(t)
	return ready
}

// Readiness is Ready, and the text that comes with it: empty if it does not
// answer yet.
func (s *Server) Readiness(t testing.TB) (ready bool, said string) {
	t.Helper()
	if s.TelemetryAddress() == "" || s.APIAddress() == "" {
		return false, ""
	}
	code, body, err := Get(t.Context(), "http://"+s.telemetry+"/readyz")
	return err == nil && code == http.StatusOK, string(body)
}

// running ends the test if the process has ended.
func (s *Server) running(t testing.TB) {
	t.Helper()
	select {
	case <-s.process.done:
		t.Fatalf("lifeline serve ended: %v\n%s", s.process.err, s.process.Stderr())
	default:
	}
}

// APIAddress is where the present process answers; empty until it has said so.
func (s *Server) APIAddress() string { return s.address(&s.api, "API listens", "address") }

// TelemetryAddress is where its metrics and health are.
func (s *Server) TelemetryAddress() string {
	return s.address(&s.telemetry, "lifeline serve starts", "telemetry")
}

func (s *Server) address(known *string, msg, field string) string {
	if *known == "" {
		for _, l := range logLines(s.process.Stderr()) {
			if l.Message() == msg {
				*known, _ = l[field].(string)
			}
		}
	}
	return *known
}

// Kill ends the process as a crash would, and waits until it is gone.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	s.running(t)
	s.process.Signal(t, syscall.SIGKILL)
	<-s.process.done
}

// Stop asks the process to end, and waits until it has: with code 0.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.running(t)
	s.process.Signal(t, syscall.SIGTERM)
	if r := s.process.Wait(t); r.Code != 0 {
		t.Errorf("lifeline serve ended with code %d\n%s", r.Code, r.Stderr)
	}
}

// Signal sends a signal to the process.
func (s *Server) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	s.process.Signal(t, signal)
}

// Ended waits for the end of a server that ends by itself, and returns what it
// said and its code.
func (s *Server) Ended(t testing.TB) Result {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.process.done:
	case <-timer.C:
		t.Fatalf("lifeline serve has not ended within %s\n%s", patience, s.process.Stderr())
	}
	return s.process.Wait(t)
}

// PID is the present process.
func (s *Server) PID() int { return s.process.cmd.Process.Pid }

// Log is what all processes have logged, in order.
func (s *Server) Log() string {
	if s.process == nil {
		return ""
	}
	return s.past.String() + s.process.Stderr()
}

// Lines are the lines of Log.
func (s *Server) Lines() []LogLine { return logLines(s.Log()) }

// AwaitLog waits for a line whose message contains text.
func (s *Server) AwaitLog(t testing.TB, text string) LogLine {
	t.Helper()
	var found LogLine
	Eventually(t, "the log saying "+text, func() bool {
		s.running(t)
		for _, l := range s.Lines() {
			if strings.Contains(l.Message(), text) {
				found = l
				return true
			}
		}
		return false
	})
	return found
}

// LogLine is one line of a log in JSON.
type LogLine map[string]any

// Message and Level are what every line has.
func (l LogLine) Message() string { return l.Field("msg") }

// Level is DEBUG, INFO, WARN or ERROR.
func (l LogLine) Level() string { return l.Field("level") }

// Field is a field as text.
func (l LogLine) Field(name string) string {
	if v, ok := l[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// logLines are the lines of a log that are whole and in JSON.
func logLines(text string) []LogLine {
	var out []LogLine
	for line := range strings.Lines(text) {
		l := LogLine{}
		if json.Unmarshal([]byte(line), &l) == nil {
			out = append(out, l)
		}
	}
	return out
}

// getTimeout bounds a question to a server.
const getTimeout = 2 * time.Minute

// Get asks a server and reads its whole answer.
func Get(ctx context.Context, url string) (code int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	// A connection for each question: the other side is killed and ports are
	// used again.
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}
