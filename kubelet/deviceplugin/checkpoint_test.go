// SPDX-License-Identifier: Apache-2.0

package deviceplugin

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

// FuzzCheckpoint reads damaged files.
func FuzzCheckpoint(f *testing.F) {
	f.Add(
		[]byte(
			`{"Data":{"PodDeviceEntries":[{"PodUID":"u","ResourceName":"r","DeviceIDs":{"-1":["d"]}}]}}`,
		),
	)
	f.Add([]byte(`{"Data":{"PodDeviceEntries":[{"PodUID":"u","DeviceIDs":["d"]}]}}`))
	path := filepath.Join(f.TempDir(), checkpointName)
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		c, _, err := readCheckpoint(path)
		if err != nil {
			return
		}
		by := c.user("r", "d")
		if by.pod == "" && by.container != "" || len(by.pod) > tracing.MaxText || !utf8.ValidString(by.container) {
			t.Errorf("%q", by)
		}
	})
}

// FuzzRequest reads damaged requests.
func FuzzRequest(f *testing.F) {
	f.Add([]byte("\x0a\x03\x0a\x01d"))
	f.Fuzz(func(_ *testing.T, data []byte) {
		for _, method := range []string{methodAllocate, methodPrepare} {
			_, _ = devicesOf(method, data)
		}
	})
}
