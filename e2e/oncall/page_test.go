// SPDX-License-Identifier: Apache-2.0

package oncall

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// generated are texts that differ in each run, and what the page has instead.
var generated = []struct {
	text *regexp.Regexp
	page string
}{
	{regexp.MustCompile(`\b(web|db)-[a-z0-9]{6,10}(-[a-z0-9]{5})?\b`), "$1-…"},
	{regexp.MustCompile(`\bmigrate-[a-z0-9]{5}\b`), "migrate-…"},
	{regexp.MustCompile(`\|`), `\|`},
}

// shown returns a text for the page.
func shown(text string) string {
	for _, g := range generated {
		text = g.text.ReplaceAllString(text, g.page)
	}
	return text
}

// page is the page of reasons; title is that of the part about this test.
const (
	page  = "../../docs/reasons.md"
	title = "\n## Twelve breakages of an on-call engineer\n"
)

// write replaces the part of the page about this test.
func write(t *testing.T, rows []string) {
	t.Helper()
	file := filepath.FromSlash(page)
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(old), title)
	if !found {
		t.Fatalf("%s has no part with the title%s", file, title)
	}
	_, rest, _ = strings.Cut(rest, "\n## ")
	text := head + title + `
` + "`make oncall`" + ` breaks these on fake nodes at the same time. After seven minutes somebody tries again
(a restart of the rollout, another cordoned node), and after eight the server is killed. Each is one
problem in ` + "`lifeline why`" + `, with one age, and has one notice, after five minutes. One more notice
follows when it is repaired.

| what breaks | the sentence of ` + "`lifeline why`" + ` | age after 6 min | after 12 min | notices |
| --- | --- | --- | --- | --- |
` + strings.Join(rows, "\n") + "\n\n## " + rest
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
