// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBlocks: sentences are broken at blanks, commands never.
func TestBlocks(t *testing.T) {
	blocks := []Block{{
		Left: "3h", Title: "Deployment web cannot pull image web:2.",
		Details: []string{"Since 12:00:00."}, Commands: []string{"Next: kubectl -n shop describe deployment/web"},
	}, {Left: ">12m", Title: "Service web has no endpoint."}}
	for name, tc := range map[string]struct {
		width int
		color bool
		want  string
	}{
		"Narrow": {36, false, `3h    Deployment web cannot pull
      image web:2.
      Since 12:00:00.
      Next: kubectl -n shop describe deployment/web

>12m  Service web has no endpoint.
`},
		"Pipe": {0, false, `3h    Deployment web cannot pull image web:2.
      Since 12:00:00.
      Next: kubectl -n shop describe deployment/web

>12m  Service web has no endpoint.
`},
		"Color": {80, true, "\x1b[33m3h    \x1b[0m\x1b[1mDeployment web cannot pull image web:2.\x1b[0m\n" +
			"      Since 12:00:00.\n      Next: kubectl -n shop describe deployment/web\n\n" +
			"\x1b[33m>12m  \x1b[0m\x1b[1mService web has no endpoint.\x1b[0m\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := Blocks(&out, blocks, tc.width, tc.color); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
