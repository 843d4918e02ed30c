// SPDX-License-Identifier: Apache-2.0

package tracing

import (
	"strings"
	"testing"
)

// TestText: a text is valid and bounded, and no letter is cut.
func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                                  "",
		"gpu-0":                             "gpu-0",
		"a\xffb":                            "ab",
		"gr\u00fc\u00df":                    "gr\u00fc\u00df",
		strings.Repeat("a", 300):            strings.Repeat("a", 256),
		strings.Repeat("a", 255) + "\u00fc": strings.Repeat("a", 255),
	} {
		if got := Text(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}
