// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFlags: a wrong directory is an error that names the flag. Without a kubelet the proxy waits for one.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	ended, end := context.WithCancel(t.Context())
	end()
	for want, args := range map[string][]string{
		"set --plugins":               nil,
		"set --plugins to":            {"--plugins=" + dir, "more"},
		"--plugins and --kubelet are": {"--plugins=" + dir + "/", "--kubelet=" + dir},
		"":                            {"--plugins=" + filepath.Join(dir, "traced"), "--kubelet=" + dir},
	} {
		err := run(ended, args, io.Discard)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
}
