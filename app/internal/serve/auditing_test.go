// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/audit"
)

// TestAuditBeginsAtTheEnd: a server with a new store starts at the log's end and stores that
// position before its first read. So the next server reads the events of the time between.
func TestAuditBeginsAtTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	end, err := audit.End(path)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, t.TempDir())
	in := newIntake()
	a := newAuditing(
		config.AuditReceiverConfiguration{LogFile: path}, audit.Config{}, in, w.Journal,
		slog.New(slog.DiscardHandler), nil,
	)
	from, err := a.from(t.Context())
	if err != nil || from != end {
		t.Fatalf("begins at %v (%v), want %v", from, err, end)
	}
	i := <-in.items
	w.set(t, i.mark[0], []byte(i.mark[1]))

	if err := os.WriteFile(path, []byte("{}\n{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if from, err := a.from(t.Context()); err != nil || from != end {
		t.Errorf("the next server begins at %v (%v), want %v", from, err, end)
	}
	if again := <-in.items; again.mark != i.mark {
		t.Errorf("the loop gets %v, want %v", again.mark, i.mark)
	}
}

// TestAuditWebhook: beside a log file, a webhook that lets anyone send gives no user.
func TestAuditWebhook(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		logFile                    string
		webhook                    config.EndpointConfiguration
		unauthenticated, anonymous bool
		err                        string
	}{
		"alone": {webhook: config.EndpointConfiguration{Address: "127.0.0.1:0"}, unauthenticated: true},
		"with a file": {
			logFile:         "audit.log",
			webhook:         config.EndpointConfiguration{Address: "127.0.0.1:0"},
			unauthenticated: true,
			anonymous:       true,
		},
		"token": {
			logFile: "audit.log",
			webhook: config.EndpointConfiguration{Address: "127.0.0.1:0", TokenFile: token},
		},
		"no token": {
			webhook: config.EndpointConfiguration{Address: "127.0.0.1:0", TokenFile: token + "x"},
			err:     "cannot read the token file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuditing(
				config.AuditReceiverConfiguration{LogFile: tc.logFile, Webhook: tc.webhook},
				audit.Config{Now: time.Now}, newIntake(), nil, slog.New(slog.DiscardHandler), nil,
			)
			ln, err := a.listen(t.Context())
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			_ = ln.Close()
			about := &about{receiving: &receiving{}, auditing: a}
			if got := about.receives().AuditWebhook; got != ln.Addr().String() {
				t.Errorf("the webhook's address is %s, want %s", got, ln.Addr())
			}
			if c := a.webhook.Config; c.Unauthenticated != tc.unauthenticated || c.Anonymous != tc.anonymous ||
				(c.Token != nil) != (tc.webhook.TokenFile != "") {
				t.Errorf("got %+v", c)
			}
		})
	}
}

// TestAuditBeforeTheFirstLists: the requests from before the end of the first lists are marked, if their kind is
// watched.
func TestAuditBeforeTheFirstLists(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		listed time.Time
		end    time.Time
		code   int
		watch  bool
		want   bool
	}{
		"no lists yet": {time.Time{}, at, 200, true, true},
		"before":       {at.Add(time.Second), at, 200, true, true},
		"after":        {at, at.Add(time.Second), 200, true, false},
		"refused":      {time.Time{}, at, 403, true, false},
		"not watched":  {time.Time{}, at, 200, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuditing(config.AuditReceiverConfiguration{}, audit.Config{}, newIntake(), nil, nil, nil)
			a.listed = func() time.Time { return tc.listed }
			a.watches = func(schema.GroupResource, string) bool { return tc.watch }
			w := &observation.Write{Code: tc.code, End: tc.end}
			sink := a.noting(func(context.Context, []*observation.Observation) error { return nil })
			must(t, sink(t.Context(), []*observation.Observation{{Write: w}}))
			if w.Unlisted != tc.want {
				t.Errorf("marked %t, want %t", w.Unlisted, tc.want)
			}
		})
	}
}
