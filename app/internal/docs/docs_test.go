// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPages: each named page exists.
func TestPages(t *testing.T) {
	for _, page := range []string{Health, Reasons, Devices, Install, Questions, Scheduler, Volumes, Webhook} {
		if _, err := os.Stat(filepath.Join("../../..", strings.TrimPrefix(page, base))); err != nil {
			t.Error(err)
		}
	}
}
