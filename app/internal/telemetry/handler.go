// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// HandlerOptions says what Handler serves.
type HandlerOptions struct {
	// Metrics and Health are required.
	Metrics *Metrics
	Health  *Health
	// Pprof serves /debug/pprof/, too.
	Pprof bool
}

// maxScrapes is how many scrapes are answered at the same time.
const maxScrapes = 4

// Handler serves /metrics, /healthz, /readyz and, if wanted, /debug/pprof/. The
// health paths answer 200, with notes if there are any, or 503 with the reasons;
// with ?verbose they name each check.
func Handler(o HandlerOptions) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", scrape(o.Metrics))
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

// scrape answers with what is true after a refresh.
func scrape(m *Metrics) http.Handler {
	tell := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.Refresh()
		tell.ServeHTTP(w, r)
	})
}

// Refresh calls what NewMetrics was given, one call at a time; a scrape does so
// by itself.
func (m *Metrics) Refresh() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refresh != nil {
		m.refresh(m)
	}
}

// answer tells what the checks have found: a line for each that is not well, or
// with ?verbose for each.
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

// maxReason is how much of a reason is told, in bytes.
const maxReason = 1024

// oneLine is text of anybody's as part of a line.
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
