// SPDX-License-Identifier: Apache-2.0

// Package scheduler tests the scheduler with spans of scheduler/ on a real control plane with fake
// nodes: its spans in the traces of `lifeline serve`, and its placements. It tests the scheduler operator
// of examples/, too.
package scheduler

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

var (
	// bench is the cluster that all tests of this package share. traced is the scheduler's program.
	bench  *harness.Bench
	traced string
	// receiver is the address for the scheduler's spans. A test's server listens on it.
	receiver string
)

// nodes is their number in the cluster: 100 for the placements, which are slow.
var nodes = 100

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		nodes = 10
	}
	var err error
	if traced, err = build(context.Background(), "scheduler", "./cmd/lifeline-scheduler"); err == nil {
		receiver, err = harness.FreeAddress()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(harness.Main(m, lab.Options{
		Nodes: lab.NodesKWOK, NodeCount: nodes, Scheduler: traced,
		Tracing: lab.Tracing{Endpoint: receiver, SamplingRatePerMillion: lab.EveryTrace}.Of(lab.Scheduler),
	}, &bench))
}

// build compiles a program of one of the repository's modules, and returns its path. The first build
// of the scheduler takes minutes.
func build(ctx context.Context, module, pkg string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir, err := filepath.Abs(filepath.Join("..", "..", module))
	if err != nil {
		return "", err
	}
	program := filepath.Join(cache, "lifeline-lab", "test", filepath.Base(filepath.Join(dir, pkg)))
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, pkg)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("cannot build %s: %w\n%s", filepath.Base(program), err, text)
	}
	return program, nil
}
