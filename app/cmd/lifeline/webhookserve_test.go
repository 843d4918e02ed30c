// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/serve"
)

// TestHangup: SIGHUP ends no server, also without a configuration file.
func TestHangup(t *testing.T) {
	for _, file := range []string{"", "lifeline.yaml"} {
		err := untilSignal(t.Context(), serve.Options{File: file}, func(ctx context.Context, o serve.Options) error {
			if o.Reload == nil {
				t.Fatalf("file %q: SIGHUP would end the process", file)
			}
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			if err := self.Signal(syscall.SIGHUP); err != nil {
				return err
			}
			select {
			case <-o.Reload:
			case <-ctx.Done():
				t.Errorf("file %q: SIGHUP ends the server", file)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
