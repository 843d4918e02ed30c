// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// notice is the part of a CloudEvent that the tests read.
type notice struct {
	ID, Type, Source, Subject string
	Data                      struct {
		Problem, Reason, Category string
		Since                     time.Time
		Count                     int
		Cause                     struct {
			TraceID string
			Edits   []string
		}
	}
}

// hook is a webhook for notices. It answers 503 while it is down.
type hook struct {
	mu   sync.Mutex
	down bool
	got  []notice
	// refused counts the requests while it was down.
	refused int
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var n notice
	switch err := json.Unmarshal(body, &n); {
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case h.down:
		h.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		h.got = append(h.got, n)
	}
}

// told returns the notices about the object, without repeated ones, as "problem.started image_not_found".
func (h *hook) told(subject string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	seen := map[string]bool{}
	for _, n := range h.got {
		if n.Subject == subject && !seen[n.ID] {
			seen[n.ID] = true
			out = append(out, strings.TrimPrefix(n.Type, "dev.lifeline.")+" "+n.Data.Category)
		}
	}
	return out
}

// first returns the first notice about the object.
func (h *hook) first(subject string) notice {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.got, func(n notice) bool { return n.Subject == subject })
	return h.got[i]
}

// TestNotices: a Deployment with a bad image has one notice after the configured time, none while its
// image is pulled again, and one when it is repaired. The server is killed, and the webhook is down, in between.
func TestNotices(t *testing.T) {
	h := &hook{}
	web := httptest.NewServer(h)
	defer web.Close()
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{
		Config: fmt.Sprintf("engine: {settle: 1s}\nnotices: {after: 3s, receivers: "+
			"[{name: hook, format: cloudevents, url: %s/hook/hunter2}]}\n", web.URL),
	})
	s.Start(t)

	apply(t, deployment(ns, "late", "v1", 1))
	s.AwaitIdle(t)
	// The progress deadline passes, and the pull is tried again every two seconds.
	apply(t, hasty(deployment(ns, "late", "v2", 1, "pull-error: not found", "backoff: 2s")))
	late := "Deployment/" + ns + "/late"
	started := []string{"problem.started image_not_found"}
	harness.Eventually(t, "a notice of the problem", func() bool { return slices.Equal(h.told(late), started) })
	n := h.first(late)
	if got := strings.Join(n.Data.Cause.Edits, "; "); !strings.Contains(got, "image late:v1 → late:v2") {
		t.Errorf("the notice has the edits %q", got)
	}
	if n.Data.Problem == "" || n.Data.Since.IsZero() || n.Data.Count != 1 ||
		!strings.Contains(n.Data.Reason, "not found") {
		t.Errorf("got %+v", n.Data)
	}
	if tr := s.Trace(t, n.Data.Cause.TraceID); tr == nil {
		t.Error("the trace of the cause is not on the server")
	}
	failed := fmt.Sprintf(
		`lifeline_changes_failed_total{category="image_not_found",kind="Deployment",namespace=%q}`, ns,
	)
	harness.Eventually(t, "the metric of failed changes", func() bool { return s.Metrics(t)[failed] >= 1 })

	// The failed change and the back-offs cause no further notice, nor does a restart.
	s.Kill(t)
	s.Start(t)
	s.AwaitIdle(t)
	if got := h.told(late); !slices.Equal(got, started) {
		t.Errorf("got the notices %q, want %q", got, started)
	}

	// The next image works. The webhook is down, and the server is killed meanwhile.
	h.mu.Lock()
	h.down = true
	h.mu.Unlock()
	apply(t, deployment(ns, "late", "v3", 1))
	harness.Eventually(t, "an attempt to deliver", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.refused > 0
	})
	s.Kill(t)
	h.mu.Lock()
	h.down = false
	h.mu.Unlock()
	s.Start(t)
	harness.Eventually(t, "a notice of the end", func() bool {
		return slices.Equal(h.told(late), append(started, "problem.resolved image_not_found"))
	})
	if strings.Contains(s.Log(), "hunter2") {
		t.Error("the log has the path of the webhook")
	}
	var sources struct{ Configuration map[string]any }
	s.API(t, "sources", &sources)
	if text := fmt.Sprint(sources.Configuration); strings.Contains(text, "hunter2") ||
		!strings.Contains(text, "127.0.0.1") {
		t.Errorf("the configuration in the API is %s", text)
	}
	s.Stop(t)
}
