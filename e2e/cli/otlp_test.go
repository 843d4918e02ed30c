// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// received returns everything that a collector got, in no particular order.
func received(c *harness.Collector) []*harness.Span {
	return sorted(c.Spans(func(*harness.Span) bool { return true }))
}

func sorted(spans []*harness.Span) []*harness.Span {
	return slices.SortedFunc(slices.Values(spans), func(a, b *harness.Span) int {
		return cmp.Or(cmp.Compare(a.Trace, b.Trace), cmp.Compare(a.ID, b.ID))
	})
}

// sameAsPrinted checks that the collector got each span of a result once.
func sameAsPrinted(t *testing.T, r harness.Result, c *harness.Collector) {
	t.Helper()
	var printed []*harness.Span
	for _, tr := range r.Traces {
		printed = append(printed, tr.Spans...)
		if n := len(tr.Orphans()); n > 0 {
			t.Errorf("trace %s has %d orphans", tr.ID, n)
		}
	}
	if len(printed) == 0 {
		t.Error("nothing was printed")
	}
	if diff := gocmp.Diff(
		sorted(printed),
		received(c),
		cmpopts.IgnoreFields(harness.Span{}, "Came", "Sender"),
	); diff != "" {
		t.Errorf("spans (-printed +received):\n%s", diff)
	}
}

func collector(t *testing.T, start func() (*harness.Collector, error)) *harness.Collector {
	t.Helper()
	c, err := start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	return c
}

func TestOTLP(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		http   bool
		flags  []string
		env    []string
		header map[string]string
	}{
		"gRPC": {
			"the scheme names the protocol",
			false,
			[]string{"--otlp", "grpc://ADDRESS"},
			nil,
			nil,
		},
		"HTTP": {
			"the scheme names the protocol",
			true,
			[]string{"--otlp", "http://ADDRESS"},
			nil,
			nil,
		},
		"HTTP by variable": {
			"HTTP is the default of the specification",
			true,
			nil,
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://ADDRESS"},
			nil,
		},
		"gRPC by variables": {
			"the protocol is named",
			false,
			nil,
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://ADDRESS", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc"},
			nil,
		},
		"for traces": {
			"the variable for traces is a whole URL",
			true,
			nil,
			[]string{
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://ADDRESS/v1/traces",
				"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1",
			},
			nil,
		},
		"flag before variables": {
			"the flag wins",
			false,
			[]string{"--otlp", "grpc://ADDRESS"},
			[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1"},
			nil,
		},
		"headers": {
			"as a backend that wants a key needs", true, []string{"--otlp", "http://ADDRESS"},
			[]string{"OTEL_EXPORTER_OTLP_HEADERS=x-key=abc"}, map[string]string{"X-Key": "abc"},
		},
		"gRPC headers": {
			"they are metadata", false, []string{"--otlp", "grpc://ADDRESS"},
			[]string{"OTEL_EXPORTER_OTLP_HEADERS=x-key=abc"}, map[string]string{"X-Key": "abc"},
		},
		"compressed": {
			"gzip", true, []string{"--otlp", "http://ADDRESS"},
			[]string{"OTEL_EXPORTER_OTLP_COMPRESSION=gzip"}, map[string]string{"Content-Encoding": "gzip"},
		},
	}
	ns := bench.Namespace(t)
	apply(t, deployment(ns, "web", 1))
	settled(t, ns, "web")
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			start := harness.NewCollector
			if tt.http {
				start = harness.NewHTTPCollector
			}
			c := collector(t, start)
			args := []string{"run", "-o", "json"}
			for _, f := range tt.flags {
				args = append(args, strings.ReplaceAll(f, "ADDRESS", c.Endpoint))
			}
			var env []string
			for _, v := range tt.env {
				env = append(env, strings.ReplaceAll(v, "ADDRESS", c.Endpoint))
			}
			script := "kubectl -n " + ns + " create configmap " + notLetters.ReplaceAllString(
				strings.ToLower(name),
				"-",
			)
			if tt.env == nil { // beside a bare write, a trace that follows from another
				script += " && kubectl -n " + ns + " delete pod -l app=web"
			}
			args = append(args, "--", "sh", "-c", script)
			r := bench.Do(t, harness.Call{Args: args, Env: env})
			if r.Code != 0 {
				t.Fatalf("exit code %d\n%s", r.Code, r.Stderr)
			}
			sameAsPrinted(t, harness.Parse(t, r), c)
			for key, want := range tt.header {
				if got := c.Header().Get(key); got != want {
					t.Errorf("%s: header %s is %q, want %q", tt.reason, key, got, want)
				}
			}
		})
	}
}

var notLetters = regexp.MustCompile(`[^a-z]+`)

func TestOTLPOfObservers(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	t.Run("watch", func(t *testing.T) {
		c := collector(t, harness.NewCollector)
		p := observer(t, ns, "watch", "-o", "json", "--otlp", "grpc://"+c.Endpoint)
		apply(t, deployment(ns, "web", 2))
		p.AwaitStdout(t, `"stringValue":"web"`)
		apply(t, slow(ns))
		p.AwaitStderr(t, "sandbox slow-")
		sameAsPrinted(t, harness.Parse(t, leave(t, p)), c)
	})
	t.Run("replay", func(t *testing.T) {
		c := collector(t, harness.NewHTTPCollector)
		file := t.TempDir() + "/r"
		bench.Run(t, 0, []string{"--record", file}, "kubectl", "-n", ns, "scale", "deployment/web", "--replicas=1")
		r := bench.Exec(t, "replay", "-o", "json", "--otlp", "http://"+c.Endpoint, file)
		sameAsPrinted(t, harness.Parse(t, r), c)
	})
}

func TestOTLPBackendThatComesLate(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	addr := harness.Free(t)
	p := bench.Begin(t, harness.Call{
		Args: []string{
			"run",
			"-o",
			"json",
			"--otlp",
			"grpc://" + addr,
			"--",
			"kubectl",
			"apply",
			"-f",
			harness.File(t, deployment(ns, "web", 1)),
		},
	})
	p.AwaitStderr(t, "cannot send spans to grpc://"+addr)
	c := collector(t, func() (*harness.Collector, error) { return harness.NewCollectorAt(addr) })
	r := harness.Parse(t, p.Wait(t))
	if r.Code != 0 {
		t.Errorf("exit code %d\n%s", r.Code, r.Stderr)
	}
	sameAsPrinted(t, r, c)
	if n := strings.Count(r.Stderr, "cannot send spans"); n != 1 || strings.Contains(r.Stderr, "could not be sent") {
		t.Errorf(
			"it says %d times that the backend is not there, want once, and nothing of lost spans:\n%s",
			n,
			r.Stderr,
		)
	}
}

func TestOTLPBackendThatIsDown(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	for name, tt := range map[string]struct {
		scheme  string
		code    int
		outcome string
	}{
		"gRPC": {"grpc", 0, "converged"},
		"HTTP": {"http", 7, "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // each waits for the backend until it gives up
			addr := harness.Free(t)
			r := bench.Run(t, tt.code, []string{"--otlp", tt.scheme + "://" + addr}, "sh", "-c",
				"kubectl -n "+ns+" create configmap "+tt.scheme+"; exit "+string(rune('0'+tt.code)))
			lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
			want := regexp.MustCompile(
				`^lifeline: .*2 (of 2 )?spans .*` + regexp.QuoteMeta(addr) + `.*connection refused`,
			)
			if last := lines[len(lines)-1]; !want.MatchString(last) {
				t.Errorf("the last line does not say how many spans were lost, and why: %q", last)
			}
			outline(t, r, "run "+tt.outcome+"\n  create ConfigMap "+tt.scheme+" (request)\n")
		})
	}
}
