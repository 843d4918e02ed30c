// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// manyTraces is the number of traces in the benchmark's server.
const manyTraces = 10_000

// BenchmarkAsking measures whole processes that query a server with 10,000 traces in its archive.
// They run without a kubeconfig, because they would otherwise also read the cluster's UID.
func BenchmarkAsking(b *testing.B) {
	binary := filepath.Join(b.TempDir(), "lifeline")
	if out, err := exec.CommandContext(
		b.Context(),
		"go",
		"build",
		"-tags",
		"grpcnotrace",
		"-o",
		binary,
		".",
	).CombinedOutput(); err != nil {
		b.Fatalf("cannot build lifeline: %v\n%s", err, out)
	}
	server := manyServed(b)
	for _, q := range []struct {
		name string
		args []string
		want int
	}{
		{"version", []string{"version"}, 1},
		{"ls", []string{"ls", "-A"}, 51},
		{"ls --failed", []string{"ls", "-A", "--failed"}, 0},
		{"ls --slow", []string{"ls", "-A", "--slow=1h"}, 0},
		{"ls KIND NAME", []string{"ls", "-A", "deployment/web-5000"}, 2},
		{"ls --limit 0", []string{"ls", "-A", "--limit", "0"}, manyTraces + 1},
		{"trace ID", []string{"trace", span.DeriveTraceID("change5000").String()[:8]}, 4},
	} {
		b.Run(q.name, func(b *testing.B) {
			for range b.N {
				cmd := exec.CommandContext(b.Context(), binary, q.args...)
				cmd.Env = append(os.Environ(), "LIFELINE_SERVER="+server, "HOME="+b.TempDir(),
					"KUBECONFIG="+filepath.Join(b.TempDir(), "none"), "KUBERNETES_SERVICE_HOST=")
				var log bytes.Buffer
				cmd.Stderr = &log
				out, err := cmd.Output()
				if err != nil || bytes.Count(out, []byte("\n")) < q.want {
					b.Fatalf("%v: %v\n%s%s", cmd, err, out, &log)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/command")
		})
	}
}

// manyServed returns the address of a server with many traces on disk.
func manyServed(b *testing.B) string {
	b.Helper()
	st := viewtest.New(b)
	asOf := spantest.Epoch.Add(time.Minute)
	for n := 0; n < manyTraces; n += 500 {
		var w viewtest.Traces
		for i := n; i < n+500; i++ {
			c := spantest.New(fmt.Sprint("change", i))
			d := c.Deployment(nil, i, i+2000)
			d.Object.Name = fmt.Sprint("web-", i)
			c.Pod(c.ReplicaSet(d, i+10, i+1900), "web", i+20, i+1800)
			w.Finished = append(w.Finished, c.Trace)
		}
		st.Put(b, asOf, w)
	}
	s, err := api.New(api.Options{Access: st.Access, Clock: func() time.Time { return asOf }})
	if err != nil {
		b.Fatal(err)
	}
	web := httptest.NewServer(s)
	b.Cleanup(func() {
		s.Close()
		web.Close()
	})
	return web.URL
}
