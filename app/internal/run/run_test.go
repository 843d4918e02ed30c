// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/ptrace"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/cli/clitest"
	"github.com/kube-lifeline/lifeline/app/internal/recording"
)

// ran is the result of a command.
type ran struct {
	code     int
	err      error
	out, log string
}

// runCommand runs the test binary as the command, under lifeline.
func runCommand(t *testing.T, change func(*Command), args ...string) ran {
	t.Helper()
	var out, log clitest.Output
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	c := &Command{
		Options: cli.Options{
			Kubeconfig: clitest.New(t).Kubeconfig(t),
			Streams:    genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &log},
			Output:     cli.OutputTree,
			Environ:    append(os.Environ(), asCommand+"=1", cli.EnvServer+"="+cli.NoServer),
		},
		Args:    append([]string{os.Args[0]}, args...),
		Timeout: 30 * time.Second,
	}
	if change != nil {
		change(c)
	}
	code, err := c.Run(context.Background())
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%s was left behind in the temporary directory", left[0].Name())
	}
	return ran{code, err, out.String(), log.String()}
}

func TestRun(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*Command)
		args   []string
		code   int
		err    string
		out    []string
		log    []string
	}{
		"Change": {"what it did is printed when it has settled", nil, []string{
			"create=ConfigMap/a",
		}, 0, "", []string{"created ConfigMap/a", "create ConfigMap a", "critical path"}, nil},
		"Nothing": {"nothing changed, and that is said", nil, []string{"exit=0"}, 0, "", nil, []string{
			"no request came through lifeline's proxy",
		}},
		"Fails": {"the command's code, and what it did change", nil, []string{
			"create=ConfigMap/a", "exit=7",
		}, 7, "", []string{"create ConfigMap a"}, nil},
		"Refused": {"a refused write is part of the trace", nil, []string{
			"create=ConfigMap/refused",
		}, 1, "", []string{"ConfigMap refused", "Forbidden: (text withheld)"}, nil},
		"Unsettled": {"what it still waits for", func(c *Command) {
			c.Timeout = 300 * time.Millisecond
		}, []string{"create=Pod/p"}, 3, "", []string{"reconcile Pod p"}, []string{"not settled within 300ms: Pod p"}},
		"Table": {"another form", func(c *Command) {
			c.Output = cli.OutputTable
		}, []string{"create=ConfigMap/a"}, 0, "", []string{"COMPONENT", "ConfigMap shop/a"}, nil},
		"NotFound": {"as a shell would", func(c *Command) {
			c.Args = []string{"no-such-command"}
		}, nil, 127, "there is no such command", nil, nil},
		"NotAllowed": {"as a shell would", func(c *Command) {
			c.Args = []string{"/etc/passwd"}
		}, nil, 126, "not executable", nil, nil},
		"BadOTLP": {"a wrong flag is said before anything runs", func(c *Command) {
			c.OTLP = "ftp://x"
		}, []string{"show=HOME"}, 1, "ftp", nil, nil},
		"DeadOTLP": {
			"a backend that is down costs nothing but a line", func(c *Command) { c.OTLP = "http://127.0.0.1:1" },
			[]string{"create=ConfigMap/a"}, 0, "", []string{"create ConfigMap a"},
			[]string{"2 of 2 spans could not be sent"},
		},
		"Around": {"a command that goes around the proxy is noticed", nil, []string{
			"--kubeconfig=/x",
		}, 0, "", nil, []string{"--kubeconfig /x leads the command around lifeline"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := runCommand(t, tc.change, tc.args...)
			if r.code != tc.code {
				t.Errorf("%s: code %d, want %d\n%s%s", tc.reason, r.code, tc.code, r.out, r.log)
			}
			switch {
			case tc.err == "" && r.err != nil:
				t.Errorf("%s: %v", tc.reason, r.err)
			case tc.err != "" && (r.err == nil || !strings.Contains(r.err.Error(), tc.err)):
				t.Errorf("%s: error %v, want %q", tc.reason, r.err, tc.err)
			}
			for _, want := range tc.out {
				if !strings.Contains(r.out, want) {
					t.Errorf("%s: standard output lacks %q:\n%s", tc.reason, want, r.out)
				}
			}
			for _, want := range tc.log {
				if !strings.Contains(r.log, want) {
					t.Errorf("%s: standard error lacks %q:\n%s", tc.reason, want, r.log)
				}
			}
		})
	}
}

func TestJSONIsOneDocument(t *testing.T) {
	r := runCommand(t, func(c *Command) { c.Output = cli.OutputJSON }, "create=ConfigMap/a")
	doc, err := (&ptrace.JSONUnmarshaler{}).UnmarshalTraces([]byte(r.out))
	if err != nil {
		t.Fatalf("%v in %s", err, r.out)
	}
	if doc.SpanCount() != 2 {
		t.Errorf("got %d spans, want the run and the write", doc.SpanCount())
	}
	if !strings.Contains(r.log, "created ConfigMap/a") {
		t.Errorf("the command's output is not on standard error: %s", r.log)
	}
}

func TestTraceParentOfTheEnvironment(t *testing.T) {
	const outer = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	r := runCommand(t, func(c *Command) {
		c.Output = cli.OutputJSON
		c.Environ = append(c.Environ, "TRACEPARENT="+outer)
	}, "show=TRACEPARENT", "create=ConfigMap/a")
	if !strings.Contains(
		r.out, `"traceId":"0af7651916cd43dd8448eb211c80319c"`,
	) || !strings.Contains(r.out, `"parentSpanId":"b7ad6b7169203331"`) {
		t.Errorf("the run is not below TRACEPARENT: %s", r.out)
	}
	if shown := r.log; !strings.Contains(
		shown, "00-0af7651916cd43dd8448eb211c80319c-",
	) || strings.Contains(shown, outer) {
		t.Errorf("the command has not the run's context: %s", shown)
	}
}

func TestInterrupt(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		ready  string
		times  int
		out    string
	}{
		"WhileItRuns": {"the command gets it too, and what is known is printed", []string{
			"create=ConfigMap/a", "wait",
		}, "waiting", 1, "create ConfigMap a"},
		"WhileWaiting": {
			"nothing more is waited for", []string{"create=Pod/p"}, "created Pod/p", 1, "reconcile Pod p",
		},
		"TwiceAtOnce": {"the second one ends it even if the command does not", []string{
			"create=ConfigMap/a", "wait", "wait",
		}, "waiting", 2, "create ConfigMap a"},
		"BeforeAnyWork": {"", []string{"wait"}, "waiting", 1, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			signals := make(chan os.Signal, 2)
			r := runCommand(t, func(c *Command) {
				out := clitest.WaitFor(tc.ready)
				c.Streams.Out = out
				c.Signals = signals
				go func() {
					<-out.Seen
					for range tc.times {
						signals <- syscall.SIGTERM
					}
				}()
				t.Cleanup(func() {
					if out := out.String(); !strings.Contains(out, tc.out) {
						t.Errorf("%s: standard output lacks %q:\n%s", tc.reason, tc.out, out)
					}
				})
			}, tc.args...)
			if r.code != cli.CodeInterrupted || r.err != nil {
				t.Errorf("%s: code %d, %v, want %d\n%s", tc.reason, r.code, r.err, cli.CodeInterrupted, r.log)
			}
		})
	}
}

func TestReplayPrintsWhatRunPrinted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl.gz")
	live := runCommand(t, func(c *Command) { c.Output, c.Record = cli.OutputJSON, file }, "create=ConfigMap/a")
	if live.err != nil {
		t.Fatal(live.err)
	}
	var out, log clitest.Output
	r := &recording.Replay{
		File:    file,
		Options: cli.Options{Output: cli.OutputJSON, Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &log}},
	}
	code, err := r.Run(context.Background())
	if code != cli.CodeOK || err != nil {
		t.Fatalf("code %d, %v", code, err)
	}
	if out.String() != live.out {
		t.Errorf("replay printed\n%s\nrun printed\n%s", out.String(), live.out)
	}
}

func TestReplayOfDamage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.jsonl")
	if r := runCommand(t, func(c *Command) { c.Record = file }, "create=ConfigMap/a"); r.err != nil {
		t.Fatal(r.err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, whole[:len(whole)-10], 0o600); err != nil {
		t.Fatal(err)
	}
	var out, log clitest.Output
	r := &recording.Replay{
		File:    file,
		Options: cli.Options{Output: cli.OutputTree, Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &log}},
	}
	code, err := r.Run(context.Background())
	if code != cli.CodeError || err == nil || !strings.Contains(err.Error(), file+", line ") {
		t.Errorf("code %d, %v, want an error that names file and line", code, err)
	}
	if !strings.Contains(out.String(), "create ConfigMap a") {
		t.Errorf("what comes before the damage is not printed: %s", out.String())
	}
}
