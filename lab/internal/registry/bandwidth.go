// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"net/http"
	"strings"

	"golang.org/x/time/rate"
)

const (
	// minBurst bounds how often a slow transfer wakes up, maxBurst how long a
	// change of the bandwidth waits for bytes that were promised before it.
	minBurst = 4 << 10
	maxBurst = 64 << 10
)

// bandwidth is one link that all transfers share. It has no limit at first.
type bandwidth struct {
	limiter *rate.Limiter
}

func newBandwidth() *bandwidth {
	return &bandwidth{limiter: rate.NewLimiter(rate.Inf, maxBurst)}
}

// set changes the limit, in bytes a second, also for transfers under way; zero
// or less means none.
func (b *bandwidth) set(bytesPerSecond int64) {
	if bytesPerSecond <= 0 {
		b.limiter.SetLimit(rate.Inf)
		return
	}
	// A burst of 20 ms hides the imprecision of timers.
	b.limiter.SetBurst(int(min(max(bytesPerSecond/50, minBurst), maxBurst)))
	b.limiter.SetLimit(rate.Limit(bytesPerSecond))
}

func (b *bandwidth) get() int64 {
	if limit := b.limiter.Limit(); limit != rate.Inf {
		return int64(limit)
	}
	return 0
}

// throttle paces the blobs that next serves; manifests are free, as they are
// small, and so are uploads.
func (b *bandwidth) throttle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
			w = &pacedWriter{ResponseWriter: w, ctx: r.Context(), bandwidth: b}
		}
		next.ServeHTTP(w, r)
	})
}

// pacedWriter hides ReadFrom of the writer inside on purpose: sendfile would
// go around the limit.
type pacedWriter struct {
	http.ResponseWriter

	ctx       context.Context //nolint:containedctx // lives as long as the request
	bandwidth *bandwidth
}

func (w *pacedWriter) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		chunk := min(len(p)-written, w.bandwidth.limiter.Burst(), maxBurst)
		if err := w.bandwidth.limiter.WaitN(w.ctx, chunk); err != nil {
			return written, err
		}
		n, err := w.ResponseWriter.Write(p[written : written+chunk])
		written += n
		if err != nil {
			return written, err
		}
		_ = http.NewResponseController(w.ResponseWriter).Flush()
	}
	return written, nil
}
