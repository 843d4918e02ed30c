// SPDX-License-Identifier: Apache-2.0

package real

import (
	"bufio"
	"context"
	"io"
	"net"
	"os/exec"
	"regexp"
	"sync"
	"testing"
	"time"
)

// forward forwards a port of its own to the API of lifeline-0 once that is ready,
// as a user would, and returns its URL.
func forward(t *testing.T) string {
	t.Helper()
	bench.MustKubectl(t, "", "-n", "lifeline", "wait", "--for=create", "pod/lifeline-0", "--timeout=4m")
	bench.MustKubectl(t, "", "-n", "lifeline", "wait", "--for=condition=Ready", "pod/lifeline-0", "--timeout=4m")
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, bench.Kubectl(), "-n", "lifeline", "port-forward", "pod/lifeline-0", ":7070")
	cmd.Env = bench.Env(bench.Kubeconfig())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		t.Fatalf("cannot start kubectl port-forward: %v", err)
	}
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	var rest sync.WaitGroup
	rest.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	t.Cleanup(func() {
		cancel()
		rest.Wait()
		_ = cmd.Wait() // it was killed
	})
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if err != nil || address == "" {
		t.Fatalf("kubectl port-forward says %q: %v", line, err)
	}
	return "http://" + address
}

// relay carries connections from an address of the node to one on loopback, and
// returns its port.
func relay(t *testing.T, node, to string) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(node, "0"))
	if err != nil {
		t.Fatalf("cannot listen on the node's address: %v", err)
	}
	var running sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return // it was closed
			}
			running.Go(func() { carry(ctx, from, to) })
		}
	})
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// carry carries one connection until either side ends it, or ctx ends.
func carry(ctx context.Context, from net.Conn, address string) {
	defer from.Close()
	to, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	stop := context.AfterFunc(ctx, func() { _, _ = from.Close(), to.Close() })
	defer stop()
	var back sync.WaitGroup
	back.Go(func() {
		_, _ = io.Copy(from, to)
		_ = from.Close()
	})
	_, _ = io.Copy(to, from)
	_ = to.Close()
	back.Wait()
}

// kubectlAtEnd clears up after a test.
func kubectlAtEnd(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if out, err := bench.RunKubectl(ctx, nil, args...); err != nil {
		t.Errorf("cannot clear up: kubectl %v: %v\n%s", args, err, out)
	}
}
