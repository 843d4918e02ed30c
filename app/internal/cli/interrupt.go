// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Interrupts returns the signals that end a command: given, or those of the process if given is
// nil. A traced command is in the same process group, so the terminal's Ctrl-C reaches it, too.
func Interrupts(given <-chan os.Signal) (signals <-chan os.Signal, release func()) {
	if given != nil {
		return given, func() {}
	}
	own := make(chan os.Signal, 2)
	signal.Notify(own, os.Interrupt, syscall.SIGTERM)
	return own, func() { signal.Stop(own) }
}

// UntilInterrupt returns a context that ends with ctx, with the first of these signals, or at the release.
func UntilInterrupt(ctx context.Context, given <-chan os.Signal) (until context.Context, release func()) {
	signals, stop := Interrupts(given)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); stop() }
}
