// SPDX-License-Identifier: Apache-2.0

// Package harness drives the lifeline binary as a user would, on clusters of
// the lab, and holds what it prints against the API server's audit log. What a
// scenario should show is for its test to say.
package harness

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
	"github.com/kube-lifeline/lifeline/lab"
)

// Bench is a running cluster and a lifeline binary.
type Bench struct {
	*lab.Cluster
	// Lifeline is the path of the binary.
	Lifeline string

	dir string
}

// Start builds lifeline and starts a cluster. Stop ends both.
func Start(ctx context.Context, opts lab.Options) (*Bench, error) {
	dir, err := os.MkdirTemp("", "lifeline-e2e-")
	if err != nil {
		return nil, fmt.Errorf("cannot make a directory for the test: %w", err)
	}
	b := &Bench{dir: dir, Lifeline: filepath.Join(dir, "lifeline")}
	if err := Build(ctx, b.Lifeline); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	opts.Progress = os.Stderr
	if b.Cluster, err = lab.Start(ctx, opts); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return b, nil
}

// Stop ends the cluster.
func (b *Bench) Stop() error { return errors.Join(b.Cluster.Stop(), os.RemoveAll(b.dir)) }

// Build builds the lifeline binary as the Makefile does. out is a copy, so a later build does not change it.
func Build(ctx context.Context, out string) error {
	shared, err := program.Own(ctx, "app", "./cmd/lifeline", "-tags", "grpcnotrace")
	if err != nil {
		return err
	}
	binary, err := os.ReadFile(shared)
	if err == nil {
		err = os.WriteFile(out, binary, 0o755)
	}
	if err != nil {
		return fmt.Errorf("cannot copy lifeline: %w", err)
	}
	return nil
}

// Result is what one lifeline command printed and how it ended.
type Result struct {
	Stdout, Stderr string
	Code           int
	// Traces are those of an -o json document, the command's own first.
	Traces []*Trace
	// Began and Ended are by the test's clock.
	Began, Ended time.Time
}

// Exec runs lifeline with the arguments and the environment of the lab's
// administrator; kubectl is the lab's.
func (b *Bench) Exec(t testing.TB, args ...string) Result {
	t.Helper()
	return b.Begin(t, Call{Args: args}).Wait(t)
}

// Env is an environment with that kubeconfig in which kubectl is the lab's.
func (b *Bench) Env(kubeconfig string) []string {
	env := []string{
		"KUBECONFIG=" + kubeconfig,
		"PATH=" + filepath.Dir(b.Kubectl()) + ":" + os.Getenv("PATH"),
		"HOME=" + b.dir,
		"LIFELINE_SERVER=none", // whatever runs on this machine
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case name == "PATH",
			name == "HOME",
			name == "KUBECONFIG",
			name == "LIFELINE_SERVER",
			strings.HasPrefix(name, "OTEL_"),
			name == "TRACEPARENT":
		default:
			env = append(env, kv)
		}
	}
	return env
}

// Run traces a command and reads the traces it prints. A code that is not want
// ends the test.
func (b *Bench) Run(t testing.TB, want int, flags []string, command ...string) Result {
	t.Helper()
	args := slices.Concat([]string{"run", "-o", "json"}, b.kept(t, flags), flags)
	r := b.Exec(t, append(append(args, "--"), command...)...)
	if r.Code != want {
		t.Fatalf("lifeline run -- %s: exit code %d, want %d\n%s\n%s",
			strings.Join(command, " "), r.Code, want, r.Stderr, r.Stdout)
	}
	r.Traces = parse(t, r.Stdout)
	return r
}

// MustKubectl runs kubectl as administrator, without lifeline, and returns what it
// printed.
func (b *Bench) MustKubectl(t testing.TB, stdin string, args ...string) string {
	t.Helper()
	out, err := b.RunKubectl(t.Context(), strings.NewReader(stdin), args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// AwaitDefaults waits for the objects that kube-controller-manager creates in each new namespace. For two
// absent objects at once, kubectl wait fails.
func (b *Bench) AwaitDefaults(t testing.TB, namespace string) {
	t.Helper()
	for _, object := range []string{"serviceaccount/default", "configmap/kube-root-ca.crt"} {
		b.MustKubectl(t, "", "-n", namespace, "wait", "--for=create", object, "--timeout=4m")
	}
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace makes a namespace for one test, which goes with it.
func (b *Bench) Namespace(t testing.TB) string {
	t.Helper()
	name := "t-" + strings.Trim(notInNames.ReplaceAllString(strings.ToLower(t.Name()), "-"), "-")
	if len(name) > 50 {
		name = strings.Trim(name[:50], "-")
	}
	// A new name each time: the previous one may still be terminating.
	name += fmt.Sprintf("-%06x", rand.IntN(1<<24))
	b.MustKubectl(t, "", "create", "namespace", name)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if out, err := b.RunKubectl(ctx, nil, "delete", "namespace", name, "--wait=false"); err != nil {
			t.Logf("cannot delete namespace %s: %v\n%s", name, err, out)
		}
	})
	return name
}

// File writes a manifest for a command to apply.
func File(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Parse reads the traces that a result printed: of one OTLP document, or of one
// a line.
func Parse(t testing.TB, r Result) Result {
	t.Helper()
	r.Traces = parse(t, r.Stdout)
	return r
}
