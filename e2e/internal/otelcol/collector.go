// SPDX-License-Identifier: Apache-2.0

package otelcol

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// Collector is one that runs.
type Collector struct {
	// Listen is where it receives, by gRPC.
	Listen string

	log, metrics string
}

// Run runs, for as long as a test takes, a Collector with the configuration in
// the file, which reads from env what depends on the place: LISTEN and
// METRICS_PORT, which are set here, and what is given as NAME=VALUE. It returns
// once the Collector listens.
func Run(t testing.TB, file, listen string, env ...string) *Collector {
	t.Helper()
	path, err := Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	c := &Collector{Listen: listen, log: filepath.Join(t.TempDir(), "collector.log"), metrics: harness.Free(t)}
	_, port, err := net.SplitHostPort(c.metrics)
	if err != nil {
		t.Fatal(err)
	}
	p := program.Run(t, program.Call{
		Path: path, Log: c.log, Args: []string{"--config", file},
		Env: append([]string{"LISTEN=" + listen, "METRICS_PORT=" + port}, env...),
	})
	harness.Eventually(t, "the Collector of "+file+" listening", func() bool {
		select {
		case <-p.Ended():
			t.Fatalf("the Collector of %s ended:\n%s", file, p.LastWords())
		default:
		}
		return strings.Contains(c.Log(t), "Everything is ready")
	})
	return c
}

// Log is what it has said.
func (c *Collector) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Spans are its counts of spans, by metric, over all its parts.
func (c *Collector) Spans(t testing.TB) map[string]int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+c.metrics+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("cannot read the Collector's metrics: %v", err)
	}
	defer res.Body.Close()
	return read(t, res.Body)
}

func read(t testing.TB, body io.Reader) map[string]int {
	t.Helper()
	out := map[string]int{}
	lines := bufio.NewScanner(body)
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), "{")
		name = strings.TrimSuffix(strings.TrimPrefix(name, "otelcol_"), "_total")
		value := lines.Text()[strings.LastIndexByte(lines.Text(), ' ')+1:]
		if n, err := strconv.ParseFloat(value, 64); err == nil && strings.HasSuffix(name, "_spans") {
			out[name] += int(n)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatalf("cannot read the Collector's metrics: %v", err)
	}
	return out
}
