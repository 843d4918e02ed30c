// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/serve"
)

// TestHangup: SIGHUP reloads the configuration file. Without one it ends the server in order.
func TestHangup(t *testing.T) {
	for file, want := range map[string]string{"": "ended", "lifeline.yaml": "reloaded"} {
		err := untilSignal(t.Context(), serve.Options{File: file}, func(ctx context.Context, o serve.Options) error {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			if err := self.Signal(syscall.SIGHUP); err != nil {
				return err
			}
			var got string
			select {
			case <-o.Reload:
				got = "reloaded"
			case <-ctx.Done():
				got = "ended"
			}
			if got != want {
				t.Errorf("file %q: %s, want %s", file, got, want)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
