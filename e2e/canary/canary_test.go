// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"bufio"
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

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// value is unlike anything that a cluster holds.
const value = "cNrY7f3e9a1b2c4d6e8f"

// token looks like a credential that no object has: only its form shows what it is. cut is the length of a part
// of the value.
const (
	token = "ghp_" + "c4n4ryC4N4RYc4n4ryC4N4RYc4n4ryC4N4RY"
	cut   = 12
	// number is a password of digits.
	number = "7305196284"
)

// TestNothingConfidential: Lifeline stores, sends and prints no confidential
// value, from any writer and in any quotation by the cluster.
func TestNothingConfidential(t *testing.T) {
	ns := bench.Namespace(t)
	quote(t, value, ns)
	backend := harness.NewBackend(t)
	backend.KeepExports()
	server := bench.Server(t, harness.ServerOptions{
		OTLP: backend.URL(),
		Config: fmt.Sprintf(
			"receivers: {otlp: {grpc: {address: %q}}, audit: {logFile: %q}}\njoining: {window: 10s}\n"+
				"watch: {secretMetadata: true}\n",
			receiver,
			bench.AuditLog(),
		),
	})
	server.Start(t)
	s := newSearch(value)
	streamed := stream(t, "http://"+server.APIAddress()+"/api/v1/watch")
	recording := filepath.Join(t.TempDir(), "record.jsonl")
	recorder := bench.Begin(t, harness.Call{Args: []string{"record", "-A", recording}})
	recorder.AwaitStderr(t, "recording")
	watch := bench.Begin(t, harness.Call{Args: []string{"watch", "-A", "-o", "json", "--server", "none"}})

	// Each way of writing, first under `lifeline run`, then beside it.
	answers := filepath.Join(t.TempDir(), "answers")
	run := func(flags, env []string, command ...string) harness.Result {
		t.Helper()
		sink := harness.NewBackend(t)
		sink.KeepExports()
		file := filepath.Join(t.TempDir(), "run.jsonl")
		args := append([]string{"run", "--timeout", "20s", "--otlp", sink.URL(), "--record", file}, flags...)
		r := bench.Do(t, harness.Call{Args: append(append(args, "--"), command...), Env: env})
		if r.Code != 0 && r.Code != 3 && r.Code != 4 {
			t.Fatalf("lifeline run %v: exit code %d: %s", command, r.Code, r.Stderr)
		}
		s.in(t, "run's output", []byte(r.Stdout))
		s.in(t, "run's errors", []byte(r.Stderr))
		s.exports(t, "run's OTLP", sink)
		s.files(t, "run's recording", filepath.Dir(file))
		for _, format := range []string{"tree", "table", "json"} {
			again := bench.Do(t, harness.Call{Args: []string{"replay", "-o", format, file}})
			s.in(t, "replay's output", []byte(again.Stdout+again.Stderr))
		}
		return r
	}
	self, task := writing(t, ns, answers)
	formats := []string{"tree", "json"}
	if testing.Short() {
		formats = formats[:1] // replay prints the others
	}
	for _, format := range formats {
		r := run([]string{"-o", format}, []string{task}, self)
		for _, want := range []string{"(text withheld)", "“it has the token …”"} {
			// A tree wraps text.
			if !strings.Contains(r.Stdout, want) && (format == "json" || want == "(text withheld)") {
				t.Errorf("lifeline run -o %s does not print %q: nothing is proved\n%s", format, want, r.Stdout)
			}
		}
	}
	for _, line := range commandLines(ns) {
		// What is not settled by then does not matter here.
		r := run([]string{"-o", "json", "--timeout", "5s"}, nil, line.command...)
		if !strings.Contains(r.Stdout, `"`+line.shown+`"`) {
			t.Errorf("%q is not shown as %q:\n%s", line.command, line.shown, r.Stdout)
		}
	}
	quotes(t, answers)
	onNode(t, ns)

	// What must be left of the messages: of refusals of a request and of a controller's
	// write, of an Event, of a condition.
	missing := ""
	t.Cleanup(func() {
		if missing != "" {
			t.Error("this is missing:", missing)
		}
	})
	harness.Within(t, time.Minute, "what users need of the messages being stored", func() bool {
		all := s.api(t, server)
		missing = ""
		for _, want := range []string{
			`Error creating: admission webhook \"quoting.canary.example.com\" denied the request: ` +
				`“PASSWORD=… is not allowed”`,
			`Job.batch \"web\" is invalid: spec.template: Invalid value: field is immutable`,
			`ValidatingAdmissionPolicy '` + ns + `' with binding '` + ns + `' denied request: “it has the token …”`,
			`, shown at audit level Request`,
			`“the login with … was refused, and data …, too”`,
			`Error: failed to start container \"web\": exec: \"(text withheld)\": (text withheld)`,
			`getting credentials: (text withheld)`,
		} {
			if !strings.Contains(all, want) {
				missing = want
				return false
			}
		}
		return true
	})
	for _, object := range []string{
		"deployment/web",
		"pod/web",
		"job/web",
		"secret/s",
		"configmap/c",
		"pod/command",
		"pod/start",
	} {
		for _, format := range []string{"tree", "table", "json"} {
			r := bench.Do(t, harness.Call{
				Args: []string{
					"trace",
					object,
					"-n",
					ns,
					"-o",
					format,
					"--server",
					"http://" + server.APIAddress(),
				},
			})
			s.in(t, "trace's output", []byte(r.Stdout+r.Stderr))
		}
	}
	bundle := filepath.Join(t.TempDir(), "bundle.tar.gz")
	for _, args := range [][]string{
		{"ls"},
		{"ls", "--failed", "-o", "json"},
		{"doctor"},
		{"doctor", "--bundle", bundle},
	} {
		r := bench.Do(t, harness.Call{Args: append(args, "--server", "http://"+server.APIAddress())})
		s.in(t, args[0]+"'s output", []byte(r.Stdout+r.Stderr))
	}
	s.packed(t, "bundle", bundle)
	s.api(t, server)
	// What is on disk in the middle of the work, the write-ahead log included.
	server.Kill(t)
	s.files(t, "store", server.Dir)
	server.Start(t)
	s.api(t, server)
	restarted(t, ns)
	harness.Within(t, time.Minute, "a message with a value from before the restart", func() bool {
		return strings.Contains(s.api(t, server), "“after the restart there is …, too”")
	})
	server.Stop(t)
	s.files(t, "store", server.Dir)
	s.databases(t, server.Dir)
	s.in(t, "server's log", []byte(server.Log()))
	s.exports(t, "server's OTLP", backend)
	s.in(t, "stream", streamed())

	for _, p := range []*harness.Process{recorder, watch} {
		p.Signal(t, syscall.SIGINT)
		p.Wait(t)
		s.in(t, p.String(), []byte(p.Stdout()+p.Stderr()))
	}
	s.files(t, "recording", filepath.Dir(recording))
	for sink, n := range s.searched {
		t.Logf("searched %9d bytes of %s", n, sink)
	}
}

// restarted makes a bird that quotes the value of its owner. The server observed the owner before its restart, and
// stored no value.
func restarted(t *testing.T, ns string) {
	t.Helper()
	uid, err := bench.RunKubectl(t.Context(), nil, "-n", ns, "get", "bird/parent", "-o", "jsonpath={.metadata.uid}")
	if err != nil {
		t.Fatal(err)
	}
	bench.MustKubectl(t, fmt.Sprintf(`{"apiVersion":"canary.example.com/v1","kind":"Bird","metadata":{
		"name":"restarted","namespace":%q,
		"ownerReferences":[{"apiVersion":"canary.example.com/v1","kind":"Bird","name":"parent","uid":%q,
		"controller":true}]},"spec":{"song":"la"}}`, ns, uid), "create", "-f", "-")
	bench.MustKubectl(t, "", "-n", ns, "patch", "bird/restarted", "--subresource=status", "--type=merge", "-p",
		`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Sings","message":`+
			`"after the restart there is `+value+`, too"}]}}`)
}

// commandLine is a command with the value that changes something, and what a
// trace shows of it.
type commandLine struct {
	command []string
	shown   string
}

// commandLines build on each other.
func commandLines(ns string) []commandLine {
	in := "kubectl -n " + ns + " "
	lines := []commandLine{
		{[]string{"bash", "-c", in + "create secret generic line --from-literal=pw=" + value}, "bash -c …"},
	}
	for _, line := range [][2]string{
		{"create configmap line --from-literal=pw=" + value, "create configmap line --from-literal=pw=…"},
		{"annotate configmap line tok=" + value, "annotate configmap line tok=…"},
		{"label configmap line tok=" + value, "label configmap line tok=…"},
		{`patch configmap line -p{"data":{"pw":"` + value + `1"}}`, "patch configmap line -p…"},
		{
			"create secret docker-registry docker --docker-username u --docker-password " + value,
			"create secret docker-registry docker --docker-username … --docker-password …",
		},
		{
			"create deployment line --image=registry.example/line -- " + value,
			"create deployment line --image=registry.example/line -- …",
		},
		{"set env deploy/line password=" + value, "set env deploy/line password=…"},
	} {
		lines = append(lines, commandLine{strings.Fields(in + line[0]), in + line[1]})
	}
	return lines
}

// writing is the command by which this binary writes, and its environment.
func writing(t *testing.T, namespace, answers string) (self, env string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	task, err := json.Marshal(writer{Canary: value, Namespace: namespace, Answers: answers})
	if err != nil {
		t.Fatal(err)
	}
	return self, writerEnv + "=" + string(task)
}

// quotes checks that the API server did quote the value: else nothing is proved.
func quotes(t *testing.T, answers string) {
	t.Helper()
	file, err := os.Open(answers)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	refusals, quoting, accepted := 0, 0, 0
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.Contains(line, `"status":"Failure"`):
			refusals++
			if strings.Contains(line, value) {
				quoting++
			}
		default:
			accepted++
		}
	}
	t.Logf("%d writes were accepted and %d refused; %d of the refusals quote the value", accepted, refusals, quoting)
	if accepted < 50 || quoting < 50 {
		t.Error("too few: nothing is proved")
	}
}

// api asks the server everything that it can be asked, and returns its traces.
func (s *search) api(t *testing.T, server *harness.Server) string {
	t.Helper()
	var all strings.Builder
	base := "http://" + server.APIAddress() + "/api/v1"
	var list struct {
		Traces []struct {
			TraceID string `json:"traceId"`
		} `json:"traces"`
	}
	if err := json.Unmarshal(s.get(t, base+"/traces?limit=10000"), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Traces) < 50 {
		t.Errorf("there are %d traces: too few to prove anything", len(list.Traces))
	}
	for _, one := range list.Traces {
		all.Write(s.get(t, base+"/traces/"+one.TraceID))
		s.get(t, base+"/traces/"+one.TraceID+"/causes")
	}
	for _, path := range []string{"/info", "/sources", "/writes?limit=10000"} {
		s.get(t, base+path)
	}
	for _, path := range []string{"/metrics", "/readyz", "/healthz"} {
		s.get(t, "http://"+server.TelemetryAddress()+path)
	}
	return all.String()
}

func (s *search) get(t *testing.T, url string) []byte {
	t.Helper()
	_, body, err := harness.Get(t.Context(), url)
	if err != nil {
		t.Errorf("cannot ask %s: %v", url, err)
	}
	s.in(t, "API", body)
	return body
}

// stream reads a stream until its server ends, and returns what came.
func stream(t *testing.T, url string) func() []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan []byte, 1)
	go func() {
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body) // it ends with the server
		done <- body
	}()
	return func() []byte {
		cancel()
		body := <-done
		if len(body) == 0 {
			t.Error("the stream is empty: nothing is proved")
		}
		return body
	}
}

// exports looks through the requests that a backend got.
func (s *search) exports(t *testing.T, sink string, b *harness.Backend) {
	t.Helper()
	all := b.Exports()
	if len(all) == 0 {
		t.Errorf("%s: nothing was sent", sink)
	}
	for _, e := range all {
		line, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		s.in(t, sink, line)
	}
}

// databases looks through the SQLite files below a directory.
func (s *search) databases(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*", "*.db"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no database in %s: %v", dir, err)
	}
	for _, file := range files {
		s.database(t, file)
	}
}
