// SPDX-License-Identifier: Apache-2.0

package object

import (
	"strings"
	"testing"
)

func TestBound(t *testing.T) {
	full := strings.Repeat("x", maxText)
	cases := map[string]struct{ reason, text, want string }{
		"short":     {"most text stays as it is", "Pulled", "Pulled"},
		"full":      {"the limit itself is allowed", full, full},
		"long":      {"the result, its mark included, keeps the limit", full + "x", full[:maxText-3] + "…"},
		"character": {"no character is cut in two", full[:maxText-4] + "ééé", full[:maxText-4] + "…"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Bound(c.text); got != c.want {
				t.Errorf("%s: Bound() has %d bytes and ends %q, want %d and %q",
					c.reason, len(got), got[max(0, len(got)-8):], len(c.want), c.want[max(0, len(c.want)-8):])
			}
		})
	}
}
