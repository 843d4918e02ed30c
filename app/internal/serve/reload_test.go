// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"log/slog"
	"os"
	"testing"
)

// TestNoFileToReload: without a file, a reload is a line in the log.
func TestNoFileToReload(t *testing.T) {
	log := newWaitingLog()
	hangups := make(chan os.Signal, 1)
	s := &server{log: slog.New(slog.NewTextHandler(log, nil)), opts: Options{Reload: hangups}}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.followConfig(ctx) }()
	hangups <- os.Interrupt
	log.await(t, "SIGHUP is ignored")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
