// SPDX-License-Identifier: Apache-2.0

package cli

import (
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
