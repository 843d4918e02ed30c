// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestEntranceOpens: the API opens after the first look, and does not wait for the archive for long.
func TestEntranceOpens(t *testing.T) {
	closed := make(chan struct{})
	close(closed)
	var never chan struct{}
	for name, tc := range map[string]struct {
		reason           string
		archived, looked <-chan struct{}
		after            time.Duration
		open             bool
	}{
		"both":       {"all is there", closed, closed, 0, true},
		"no archive": {"its check may take long", never, closed, archivePatience, true},
		"no look":    {"there is nothing to show", closed, never, time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &entrance{
					gate: &gate{}, people: &listening{address: &net.TCPAddr{}}, log: slog.New(slog.DiscardHandler),
				}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.open(ctx, http.NotFoundHandler(), tc.archived, tc.looked) }()
				time.Sleep(tc.after)
				synctest.Wait()
				if open := e.gate.answering() == nil; open != tc.open {
					t.Errorf("open is %t, want %t: %s", open, tc.open, tc.reason)
				}
				cancel()
				must(t, <-ended)
			})
		})
	}
}
