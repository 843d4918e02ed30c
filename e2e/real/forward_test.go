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

// forward waits until the Pod lifeline-0 is ready, forwards a free port to its API, and returns the
// URL.
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
		_ = cmd.Wait() // the error is that of the kill
	})
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(line)
	if err != nil || address == "" {
		t.Fatalf("kubectl port-forward printed no address, but %q: %v", line, err)
	}
	return "http://" + address
}

// relay listens on the node's address, forwards connections to an address on loopback, and returns
// its port.
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
				return // the listener is closed
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

// carry forwards one connection until either side closes it, or ctx ends.
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

// kubectlAtEnd runs kubectl in a cleanup, when the test's context has ended.
func kubectlAtEnd(t *testing.T, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if out, err := bench.RunKubectl(ctx, nil, args...); err != nil {
		t.Errorf("cannot clean up: kubectl %v: %v\n%s", args, err, out)
	}
}
