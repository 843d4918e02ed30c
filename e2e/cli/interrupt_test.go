// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// slow is a Deployment whose Pods take a minute to pull their image.
func slow(namespace string) string {
	return deployment(namespace, "slow", 1, "lab.lifeline.dev/pull: 60s")
}

// deployment is a manifest; notes are lines of the Pods' annotations.
func deployment(namespace, name string, replicas int, notes ...string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata:
      labels: {app: %[2]s}
      annotations: {%[4]s}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: app, image: "app:1"}]
`, namespace, name, replicas, strings.Join(notes, ", "))
}

func TestInterrupt(t *testing.T) {
	t.Parallel()
	alone := func(t *testing.T, p *harness.Process) { t.Helper(); p.Signal(t, syscall.SIGINT) }
	group := func(t *testing.T, p *harness.Process) { t.Helper(); p.SignalGroup(t, syscall.SIGINT) }
	tests := map[string]struct {
		reason string
		// after applies what the command does once it has applied its manifest.
		after  string
		signal func(*testing.T, *harness.Process)
		want   string
	}{
		"while the command runs": {
			"the command is told too", "exec tail -f /dev/null", alone, unfinished,
		},
		"while the command runs in a terminal": {
			"the terminal tells the whole process group", "exec tail -f /dev/null", group, unfinished,
		},
		"while waiting": {
			"the command has ended", "", alone, unfinished,
		},
		"while waiting in a terminal": {
			"the command has ended", "", group, unfinished,
		},
		"with SIGTERM": {
			"as CI ends a job", "exec tail -f /dev/null",
			func(t *testing.T, p *harness.Process) { t.Helper(); p.Signal(t, syscall.SIGTERM) }, unfinished,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := bench.Namespace(t)
			p := bench.Begin(t, harness.Call{Args: []string{
				"run",
				"-o",
				"json",
				"--",
				"sh",
				"-c",
				"kubectl apply -f " + harness.File(t, slow(ns)) + "\n" + tt.after,
			}})
			p.AwaitStderr(t, "sandbox slow-")
			harness.Eventually(t, "the pull", func() bool {
				return bench.MustKubectl(
					t,
					"",
					"-n",
					ns,
					"get",
					"events",
					"--field-selector",
					"reason=Pulling",
					"-o",
					"name",
				) != ""
			})
			bench.Oracle(t, ns) // lifeline sees it a moment later
			tt.signal(t, p)
			r := p.Wait(t)
			if r.Code != 130 {
				t.Errorf("%s: exit code %d, want 130\n%s", tt.reason, r.Code, r.Stderr)
			}
			namedOutline(t, ns, harness.Parse(t, r), tt.want)
			p.NothingLeft(t)
		})
	}
}

// unfinished is the reason of slow's open rollout while its image is pulled.
const unfinished = `
run unfinished
  reconcile Deployment slow unfinished (request)
    create Deployment slow (request)
    reconcile ReplicaSet slow-A unfinished (owner)
      reconcile Pod slow-A-* unfinished (owner)
        [pull image, sandbox, schedule]
`

func TestInterruptTwiceEndsACommandThatIgnoresIt(t *testing.T) {
	never := filepath.Join(t.TempDir(), "never")
	if err := syscall.Mkfifo(never, 0o600); err != nil {
		t.Fatal(err)
	}
	p := bench.Begin(t, harness.Call{Args: []string{
		"run",
		"--",
		"sh",
		"-c",
		"trap 'echo heard >&2' INT; echo ready >&2; while :; do read -r _ <" + never + "; done",
	}})
	p.AwaitStderr(t, "ready")
	// The command hears the first from lifeline alone: two signals to lifeline in a row would be one.
	p.Signal(t, syscall.SIGINT)
	p.AwaitStderr(t, "heard")
	p.SignalGroup(t, syscall.SIGINT)
	r := p.Wait(t)
	ends(t, r, 130)
	p.NothingLeft(t)
}

func TestKill(t *testing.T) {
	p := bench.Begin(t, harness.Call{Args: []string{"run", "--", "sh", "-c", "echo command=$$ >&2; exec sleep 300"}})
	p.AwaitStderr(t, "command=")
	p.Signal(t, syscall.SIGKILL)
	p.Wait(t)
	_, command, _ := strings.Cut(strings.TrimSpace(p.Stderr()), "command=")
	harness.Eventually(t, "the end of the command", func() bool {
		// A zombie has no command line.
		line, err := os.ReadFile("/proc/" + command + "/cmdline")
		return err != nil || len(line) == 0
	})
	if left, err := os.ReadDir(p.Temp); err != nil || len(left) != 1 {
		t.Errorf("%v is left (%v), want the directory of the kubeconfig: nothing is proved", left, err)
	}
	ends(t, bench.Do(t, harness.Call{Args: []string{"run", "--", "true"}, Env: []string{"TMPDIR=" + p.Temp}}), 0)
	if left, err := os.ReadDir(p.Temp); err != nil || len(left) != 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
}

func TestInterruptOfObservers(t *testing.T) {
	ns := bench.Namespace(t)
	file := t.TempDir() + "/recording"
	tests := map[string]struct {
		args  []string
		ready string
		code  int
	}{
		"watch":  {[]string{"watch", "-n", ns}, "watching namespace", 130},
		"record": {[]string{"record", "-n", ns, file}, "recording to", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := bench.Begin(t, harness.Call{Args: tt.args})
			p.AwaitStderr(t, tt.ready)
			p.Signal(t, syscall.SIGINT)
			r := p.Wait(t)
			ends(t, r, tt.code)
			p.NothingLeft(t)
		})
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	p := bench.Begin(t, harness.Call{Args: []string{
		"run", "-o", "json", "--timeout", "15s", "--", "kubectl", "apply", "-f", harness.File(t, slow(ns)),
	}})
	r := p.Wait(t)
	if r.Code != 3 {
		t.Errorf("exit code %d, want 3", r.Code)
	}
	lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
	if last := lines[len(lines)-1]; !strings.HasPrefix(last, "lifeline: not settled within 15s: ") ||
		!strings.Contains(last, "container app") {
		t.Errorf("the last line does not say what is waited for: %q", last)
	}
	namedOutline(t, ns, harness.Parse(t, r), unfinished)
	p.NothingLeft(t)
}

func TestTimeoutYieldsToTheCommandsCode(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	r := bench.Run(
		t,
		5,
		[]string{"--timeout", "1s"},
		"sh",
		"-c",
		"kubectl apply -f "+harness.File(t, slow(ns))+"; exit 5",
	)
	if !strings.Contains(r.Stderr, "lifeline: not settled within 1s: ") {
		t.Errorf("it does not say what is waited for:\n%s", r.Stderr)
	}
}
