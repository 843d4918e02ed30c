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

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// notice is the part of a CloudEvent that the tests read.
type notice struct {
	ID, Type, Source, Subject string
	Data                      struct {
		TraceID, Outcome, Reason, Category, Blamed string
		Edits                                      []string
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

// told returns the notices about the object, without repeated ones, as "stuck image_not_found".
func (h *hook) told(subject string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []string
	seen := map[string]bool{}
	for _, n := range h.got {
		if n.Subject == subject && !seen[n.ID] {
			seen[n.ID] = true
			_, typ, _ := strings.Cut(n.Type, "change.")
			out = append(out, typ+" "+n.Data.Category)
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

// TestNotices tells a webhook about a change that is stuck, then resolved, and about one that fails,
// while the webhook is down and the server is killed. The metrics count both.
func TestNotices(t *testing.T) {
	h := &hook{}
	web := httptest.NewServer(h)
	defer web.Close()
	ns := bench.Namespace(t)
	s := bench.Server(t, harness.ServerOptions{
		Config: fmt.Sprintf("engine: {settle: 1s}\nnotices: {url: %s/hook/hunter2, stuckAfter: 3s}\n", web.URL),
	})
	s.Start(t)

	apply(t, deployment(ns, "late", "v1", 1))
	s.AwaitIdle(t)
	apply(t, deployment(ns, "late", "v2", 1, "pull-error: not found", "backoff: 600s"))
	late := "Deployment/" + ns + "/late"
	harness.Eventually(t, "a notice of the stuck change", func() bool {
		return slices.Equal(h.told(late), []string{"stuck image_not_found"})
	})
	stuck := fmt.Sprintf(`lifeline_changes_stuck{category="image_not_found",kind="Deployment",namespace=%q}`, ns)
	harness.Eventually(t, "the metric of stuck changes", func() bool { return s.Metrics(t)[stuck] == 1 })
	n := h.first(late)
	if got := strings.Join(n.Data.Edits, "; "); !strings.Contains(got, "image late:v1 → late:v2") {
		t.Errorf("the notice has the edits %q", got)
	}
	if !strings.HasPrefix(n.Data.Blamed, "Pod late-") || !strings.Contains(n.Data.Reason, "not found") {
		t.Errorf("got %+v", n.Data)
	}
	if tr := s.Trace(t, n.Data.TraceID); tr == nil {
		t.Error("the trace of the notice is not on the server")
	}

	// The next image works. The server is killed in between.
	s.Kill(t)
	apply(t, deployment(ns, "late", "v3", 1))
	s.Start(t)
	harness.Eventually(t, "a notice of the end", func() bool {
		return slices.Equal(h.told(late), []string{"stuck image_not_found", "resolved image_not_found"})
	})
	harness.Eventually(t, "no stuck change", func() bool { return s.Metrics(t)[stuck] == 0 })

	// A failure while the webhook is down, over another kill.
	h.mu.Lock()
	h.down = true
	h.mu.Unlock()
	apply(t, hasty(deployment(ns, "bad", "v1", 1, "pull-error: not found", "backoff: 600s")))
	failed := fmt.Sprintf(
		`lifeline_changes_failed_total{category="image_not_found",kind="Deployment",namespace=%q}`,
		ns,
	)
	harness.Eventually(t, "the metric of failed changes", func() bool { return s.Metrics(t)[failed] >= 1 })
	harness.Eventually(t, "a try to tell", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.refused > 0
	})
	s.Kill(t)
	s.Start(t)
	h.mu.Lock()
	h.down = false
	h.mu.Unlock()
	bad := "Deployment/" + ns + "/bad"
	harness.Eventually(t, "a notice of the failure", func() bool {
		told := h.told(bad)
		return len(told) > 0 && told[len(told)-1] == "failed image_not_found"
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
