// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// TestStarting: the commands wait for a server that has just started, and then have its traces.
func TestStarting(t *testing.T) {
	ready := serve(t, "cluster-1")
	for name, run := range map[string]func(cli.Options, cli.Server) (int, error){
		"ls": func(o cli.Options, s cli.Server) (int, error) {
			l := List{Options: o, Server: s}
			return l.Run(context.Background())
		},
		"trace": func(o cli.Options, s cli.Server) (int, error) {
			c := Trace{Options: o, Server: s, Name: "pod/web-6cf-p2"}
			return c.Run(context.Background())
		},
		"why": func(o cli.Options, s cli.Server) (int, error) {
			w := Why{Trace: Trace{Options: o, Server: s, Name: "pod/web-6cf-p2", Namespace: "default"}}
			return w.Run(context.Background())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Two requests fail: the first of Connect, and one after it.
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if n := asked.Add(1); n == 1 || n == 3 {
					w.Header().Set("Content-Type", "application/json")
					w.Header().Set("Retry-After", "1")
					w.WriteHeader(http.StatusServiceUnavailable)
					_, _ = io.WriteString(w, `{"error":{"code":503,"message":"lifeline serve is starting"}}`)
					return
				}
				ready.Config.Handler.ServeHTTP(w, r)
			}))
			defer server.Close()
			o, out, log := asking(cli.OutputTable)
			if name == "why" {
				o.Output = textOutput
			}
			code, err := run(o, cli.Server{URL: server.URL, Named: true})
			if code != cli.CodeOK || err != nil || !strings.Contains(out.String(), "web") {
				t.Errorf("code %d, %v:\n%s%s", code, err, out, log)
			}
			want := "lifeline: waiting for the server at " + server.URL + ": lifeline serve is starting\n"
			if !strings.Contains(log.String(), want) {
				t.Errorf("said %q, want %q", log, want)
			}
		})
	}
}
