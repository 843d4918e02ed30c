// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzParse: for any file, the result is valid, and errors are bounded and printable on a terminal.
func FuzzParse(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte(head))
	f.Add([]byte(exampleYAML()))
	f.Add([]byte(head + "relations:\n" + exampleRelation))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse(data)
		if err == nil {
			if err := c.Validate(); err != nil {
				t.Fatalf("Parse returned an invalid configuration: %v", err)
			}
			if got := c.Declared().Stats(); len(got) != len(c.Relations) {
				t.Fatalf("got %d compiled relations of %d", len(got), len(c.Relations))
			}
			if len(c.Watch.Excluded()) < 1+len(c.Watch.Exclude) {
				t.Fatalf("Excluded drops an exclusion: %q", c.Watch.Exclude)
			}
			return
		}
		for line := range strings.SplitSeq(err.Error(), "\n") {
			if len(line) > 2000 || !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl) {
				t.Fatalf("an error line is too long or not printable: %d bytes: %q", len(line), line)
			}
		}
	})
}
