// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// TestAnnouncedRun: a server beside lifeline run has the same trace as the command prints, with the
// same span IDs.
func TestAnnouncedRun(t *testing.T) {
	t.Parallel()
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	ns := bench.Namespace(t)
	at := "http://" + s.APIAddress()
	run := func(args ...string) harness.Result {
		t.Helper()
		r := bench.Exec(t, append([]string{"run", "--server", at, "-n", ns}, args...)...)
		if r.Code != 0 || strings.Contains(r.Stderr, "no server has this trace") {
			t.Fatalf("run %v: code %d\n%s", args, r.Code, r.Stderr)
		}
		return r
	}
	for _, args := range [][]string{
		{"kubectl", "create", "deployment", "web", "--image=web:1", "--replicas=2"},
		{"kubectl", "scale", "deployment/web", "--replicas=3"},
		{"kubectl", "delete", "deployment/web"},
	} {
		t.Run(args[1], func(t *testing.T) {
			printed := harness.Parse(t, run(append([]string{"-o", "json", "--"}, args...)...)).Traces[0]
			s.AwaitIdle(t)
			stored := s.Trace(t, printed.ID)
			if stored == nil {
				t.Fatalf("the server does not know trace %s", printed.ID)
			}
			if diff := gocmp.Diff(shape(printed), shape(stored)); diff != "" {
				t.Errorf("spans (-run +server):\n%s", diff)
			}
		})
	}

	text := run("--", "kubectl", "create", "deployment", "api", "--image=api:1").Stderr
	_, command, found := strings.Cut(text, "to see this change again: lifeline ")
	if !found {
		t.Fatalf("run does not print the command to see the trace:\n%s", text)
	}
	s.AwaitIdle(t)
	r := bench.Exec(t, strings.Fields(command)...)
	if r.Code != 0 || !strings.Contains(r.Stdout, "kubectl create deployment api") {
		t.Errorf("lifeline %s: code %d\n%s%s", command, r.Code, r.Stdout, r.Stderr)
	}
}

// shape returns the spans of a trace by ID: name, object and parent.
func shape(tr *harness.Trace) map[string]string {
	out := map[string]string{}
	for _, s := range tr.Spans {
		out[s.ID] = strings.Join([]string{s.Name, s.Object(), s.Parent}, " ")
	}
	return out
}

// TestAnnouncedRunKilled: the server ends a run without announcements.
func TestAnnouncedRunKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: make test-all runs it")
	}
	t.Parallel()
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	ns := bench.Namespace(t)
	p := bench.Begin(t, harness.Call{Args: []string{
		"run", "--server", "http://" + s.APIAddress(), "-n", ns, "--", "sh", "-c",
		"kubectl -n " + ns + " create configmap one; sleep 120",
	}})
	var id string
	harness.Eventually(t, "the announced trace", func() bool {
		for found, tr := range s.Traces(t, ns) {
			if len(tr.Find("run", "")) > 0 {
				id = found
			}
		}
		return id != ""
	})
	p.Signal(t, syscall.SIGKILL)
	harness.Within(t, time.Minute, "the end of the killed run", func() bool {
		for _, sum := range s.List(t, nil) {
			if sum.TraceID == id {
				return !sum.Open
			}
		}
		return false
	})
	for _, sp := range s.Trace(t, id).Spans {
		if sp.Parent == "" && sp.Attributes["lifeline.run.exit_code"] != "-1" {
			t.Errorf("the root of trace %s is %+v", id, sp)
		}
	}
}

// TestAnnouncementsFromElsewhere: other clients than lifeline run on this machine are rejected.
func TestAnnouncementsFromElsewhere(t *testing.T) {
	t.Parallel()
	s := bench.Server(t, harness.ServerOptions{})
	s.Start(t)
	doc, err := json.Marshal(map[string]any{"sent": time.Now(), "run": map[string]any{"start": time.Now()}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		header, value string
		code          int
	}{
		"a web page":        {"Origin", "http://evil.example", http.StatusForbidden},
		"a reverse proxy":   {"X-Forwarded-For", "192.0.2.1", http.StatusForbidden},
		"no trace context":  {"X-Other", "1", http.StatusBadRequest},
		"another name here": {"Host", "evil.example", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
				"http://"+s.APIAddress()+"/api/v1/runs", strings.NewReader(string(doc)))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set(tc.header, tc.value)
			if tc.header == "Host" {
				req.Host = tc.value
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if res.StatusCode != tc.code {
				t.Errorf("got %s, want %d", res.Status, tc.code)
			}
		})
	}
}

// TestAnnouncedRunAcrossRestart: a server that is killed while the command runs has its whole trace
// afterwards.
func TestAnnouncedRunAcrossRestart(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: make test-all runs it")
	}
	t.Parallel()
	s := bench.Server(t, harness.ServerOptions{Args: []string{"--api-address", harness.Free(t)}})
	s.Start(t)
	ns := bench.Namespace(t)
	p := bench.Begin(t, harness.Call{Args: []string{
		"run", "-o", "json", "--server", "http://" + s.APIAddress(), "-n", ns, "--", "sh", "-c",
		"kubectl -n " + ns + " create configmap one; sleep 6; kubectl -n " + ns + " create configmap two; sleep 6",
	}})
	harness.Eventually(t, "the announced trace", func() bool {
		for _, tr := range s.Traces(t, ns) {
			if len(tr.Find("run", "")) > 0 {
				return true
			}
		}
		return false
	})
	s.Kill(t)
	time.Sleep(7 * time.Second) // the second write happens while no server runs
	s.Start(t)
	r := p.Wait(t)
	if r.Code != 0 {
		t.Fatalf("run: code %d\n%s", r.Code, r.Stderr)
	}
	printed := harness.Parse(t, r).Traces[0]
	s.AwaitIdle(t)
	if diff := gocmp.Diff(shape(printed), shape(s.Trace(t, printed.ID))); diff != "" {
		t.Errorf("spans (-run +server):\n%s\nrun printed:\n%s", diff, r.Stderr)
	}
}
