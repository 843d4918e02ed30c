// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// HandlerOptions configures Handler.
type HandlerOptions struct {
	// Metrics and Health are required.
	Metrics prometheus.Gatherer
	Health  *Health
	// Pprof also serves /debug/pprof/.
	Pprof bool
}

// maxScrapes limits concurrent scrapes.
const maxScrapes = 4

// Handler serves /metrics (as OpenMetrics on request), /healthz, /readyz and, with Pprof, /debug/pprof/. The health paths
// answer 200, with notes if there are any, or 503 with the reasons. With ?verbose they list each
// check.
func Handler(o HandlerOptions) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Metrics, promhttp.HandlerOpts{
		MaxRequestsInFlight: maxScrapes,
		EnableOpenMetrics:   true, // it has exemplars
	}))
	mux.Handle("GET /healthz", answer(o.Health, true))
	mux.Handle("GET /readyz", answer(o.Health, false))
	if o.Pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return mux
}

// answer lists the failed checks, or with ?verbose all checks, one per line.
func answer(h *Health, liveOnly bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verbose := r.URL.Query().Has("verbose")
		code, word := http.StatusOK, "ok"
		var lines strings.Builder
		for _, f := range h.Findings(liveOnly) {
			switch {
			case f.Err != nil && f.Note:
				fmt.Fprintf(&lines, "~ %s: %s\n", oneLine(f.Name), oneLine(f.Err.Error()))
			case f.Err != nil:
				code, word = http.StatusServiceUnavailable, "not ok"
				fmt.Fprintf(&lines, "- %s: %s\n", oneLine(f.Name), oneLine(f.Err.Error()))
			case verbose:
				fmt.Fprintf(&lines, "+ %s: ok\n", oneLine(f.Name))
			}
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(code)
		fmt.Fprintf(w, "%s%s\n", lines.String(), word)
	})
}

// maxReason limits the text of a reason, in bytes.
const maxReason = 1024

// oneLine makes untrusted text part of a line.
func oneLine(text string) string {
	if len(text) > maxReason {
		text = text[:maxReason] + "…"
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}
