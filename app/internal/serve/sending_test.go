// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// A backend that refuses spans without a change does not make a stopped server fail.
func TestPassedOnInVain(t *testing.T) {
	backend := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }),
	)
	defer backend.Close()
	to := export.Options{Endpoint: backend.URL}
	passing, err := export.New(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	outbox, err := export.OpenOutbox(
		t.Context(),
		export.OutboxOptions{Options: to, Log: newWorld(t, t.TempDir()).Journal},
	)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	d := &delivery{log: slog.New(slog.NewTextHandler(&log, nil)), outbox: outbox, passing: passing}
	_, _, _, at := pods(t)
	alone := syncOf(1, "of another", at)
	passing.Export([]*span.Trace{{ID: alone.TraceID, Spans: []*span.Span{alone}}})
	if err := d.Stop(); err != nil {
		t.Errorf("the server ends with an error: %v", err)
	}
	if !strings.Contains(log.String(), "1 of 1 spans could not be sent") {
		t.Errorf("the lost span is not in the log:\n%s", log.String())
	}
}

// TestDeliveryStarts: a wrong endpoint ends the start with the name of its setting.
func TestDeliveryStarts(t *testing.T) {
	for name, tc := range map[string]struct{ endpoint, want string }{
		"none":  {"", ""},
		"wrong": {"gopher://collector", "otlp.endpoint"},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.OTLP.Endpoint = tc.endpoint
			c.Receivers.OTLP.HTTP.Address = "127.0.0.1:0" // so that spans are passed
			log := newWorldOver(t, t.TempDir(), nil).Journal
			d := newDelivery(c, "c", log, time.Now, slog.New(slog.DiscardHandler))
			err := d.Start(t.Context())
			if err == nil {
				must(t, d.Stop())
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
