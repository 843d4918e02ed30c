// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hook is a webhook that answers with the codes in turn, the last one for ever.
type hook struct {
	mu    sync.Mutex
	codes []int
	got   []event.Event
	auth  []string
	log   []string
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var e event.Event
	if err := json.Unmarshal(body, &e); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.got, h.auth = append(h.got, e), append(h.auth, r.Header.Get("Authorization"))
	code := h.codes[0]
	if len(h.codes) > 1 {
		h.codes = h.codes[1:]
	}
	w.WriteHeader(code)
}

// deliver runs a sender with a notice about a failed change until done reports true.
func (h *hook) deliver(t *testing.T, change func(*Sender), done func(Stats) bool) Stats {
	t.Helper()
	server := httptest.NewServer(h)
	defer server.Close()
	b, _ := NewBoard(time.Minute, nil)
	b.Look(at(1), nil, []*span.Trace{ended(deployment(1, "image_not_found", 0), span.Failed)}, nil, false)
	b.Stored()
	s := &Sender{
		Board: b, URL: server.URL + "/hook/secret", Cluster: "c1", Leads: func() bool { return true },
		Warn: func(msg string, args ...any) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.log = append(h.log, msg+fmt.Sprint(args...))
		},
	}
	if change != nil {
		change(s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	ended := make(chan error)
	go func() { ended <- s.Run(ctx) }()
	for !done(s.Stats()) && ctx.Err() == nil {
		time.Sleep(5 * time.Millisecond) // the counts have no signal
	}
	if ctx.Err() != nil {
		t.Errorf("it did not come to an end: %+v", s.Stats())
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	s.client.CloseIdleConnections()
	return s.Stats()
}

func sentOne(s Stats) bool { return s.Sent[Failed] == 1 }

func TestSender(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("letmein\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &hook{codes: []int{204}}
	h.deliver(t, func(s *Sender) { s.TokenFile = token }, sentOne)
	e := h.got[0]
	if e.Type() != string(Failed) || e.Source() != "/clusters/c1" || e.Subject() != "Deployment/shop/web-1" ||
		!strings.HasSuffix(e.ID(), "/failed") || h.auth[0] != "Bearer letmein" {
		t.Errorf("got %s, authorized by %q", e, h.auth[0])
	}
	if got := e.Extensions()["traceparent"]; got != "00-00000000000000000000000000000001-0000000000000001-01" {
		t.Errorf("traceparent is %v", got)
	}
	var data map[string]any
	if err := e.DataAs(&data); err != nil {
		t.Fatal(err)
	}
	if data["category"] != "image_not_found" || data["reason"] != "Pod web-x cannot pull image web:9" ||
		data["blamed"] != "Pod web-x" || data["outcome"] != "failed" {
		t.Errorf("got the data %v", data)
	}
}

// TestSenderAgain repeats after an error that may pass, and gives up after one that stays.
func TestSenderAgain(t *testing.T) {
	for _, code := range []int{500, 503, 429, 401, 404} {
		h := &hook{codes: []int{code, 200}}
		s := h.deliver(t, nil, sentOne)
		if len(h.got) != 2 || h.got[0].ID() != h.got[1].ID() || s.Failures != 1 || s.Refused != 0 || s.Waiting != 0 {
			t.Errorf("%d: %d requests, %+v", code, len(h.got), s)
		}
		if slices.ContainsFunc(h.log, func(line string) bool { return strings.Contains(line, "secret") }) {
			t.Errorf("the log has the path of the webhook: %q", h.log)
		}
	}
	for _, code := range []int{400, 302, 410} {
		h := &hook{codes: []int{code}}
		s := h.deliver(t, nil, func(s Stats) bool { return s.Refused == 1 })
		if len(h.got) != 1 || s.Waiting != 0 || s.Sent[Failed] != 0 {
			t.Errorf("%d: %d requests, %+v", code, len(h.got), s)
		}
	}
	h := &hook{codes: []int{200}}
	asked := 0
	h.deliver(t, func(s *Sender) {
		s.Leads = func() bool { asked++; s.Board.Stored(); return asked > 3 }
	}, sentOne)
	if asked < 4 {
		t.Errorf("sent after %d questions whether this server leads", asked)
	}
	h = &hook{codes: []int{200}}
	s := h.deliver(t, func(s *Sender) { s.URL, s.TokenFile = "http://127.0.0.1:1/secret", "" }, func(s Stats) bool {
		return s.Failures == 1
	})
	if s.Waiting != 1 || len(h.log) == 0 || strings.Contains(strings.Join(h.log, ""), "secret") {
		t.Errorf("without a listener: %+v, log %q", s, h.log)
	}
}

func TestRedacted(t *testing.T) {
	for in, want := range map[string]string{
		"https://hooks.example/T0/B0/secret?a=b": "https://hooks.example/…",
		"https://user:pass@hooks.example":        "https://hooks.example/…",
		"::":                                     "…",
	} {
		if got := Redacted(in); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}
