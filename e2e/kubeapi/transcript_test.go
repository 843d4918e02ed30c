// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// guide has the transcript between two marks.
const (
	guide       = "../../docs/guides/kubectl.md"
	scriptBegin = "<!-- A run of e2e/kubeapi, written by its -update. -->\n"
	scriptEnd   = "<!-- End of the run. -->\n"
)

// script is a transcript of commands and their output.
type script struct{ text strings.Builder }

func (s *script) note(sentence string) { s.text.WriteString("# " + sentence + "\n") }

// add adds a call of kubectl by the user.
func (s *script) add(args []string, out string) {
	s.command("kubectl "+strings.Join(args, " "), strings.ReplaceAll(out, "kubectl --kubeconfig", "kubectl"))
}

func (s *script) command(line, out string) {
	s.text.WriteString("$ " + line + "\n")
	for l := range strings.Lines(out) {
		s.text.WriteString(strings.TrimRight(l, " \n") + "\n")
	}
	s.text.WriteString("\n")
}

// varying are the parts that differ in each run.
var varying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\b[0-9a-f]{32}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "TIME"},
	{regexp.MustCompile(`\b\d\d:\d\d:\d\d\b`), "TIME"},
	{regexp.MustCompile(`~?\b\d+(\.\d+)?(ms|s|m|h)(\d\ds)?…?`), "D"},
	{regexp.MustCompile(`web-[0-9a-f]{6,10}(-[a-z0-9]{5})?`), "web-POD"},
	{regexp.MustCompile(`trace [0-9a-f]{8}`), "trace ID"},
	{regexp.MustCompile(`Resource Version: +\d+`), "Resource Version: N"},
	{regexp.MustCompile(`\d+ ?%`), "P%"},
	{regexp.MustCompile(`[ ]{2,}`), "  "},
}

func normal(text string) string {
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.with)
	}
	return text
}

// compare compares the transcript with the guide, apart from what differs in each run, or writes it there.
func (s *script) compare(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), scriptBegin)
	old, after, found := strings.Cut(rest, scriptEnd)
	if !found {
		t.Fatalf("%s has no place for the transcript", guide)
	}
	now := "```console\n" + strings.TrimRight(s.text.String(), "\n") + "\n```\n"
	if *update {
		text := before + scriptBegin + now + scriptEnd + after
		if err := os.WriteFile(guide, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	// Which step a stuck Pod has reached differs; the commands do not.
	commands := func(text string) (out []string) {
		for l := range strings.Lines(normal(text)) {
			if strings.HasPrefix(l, "$ ") || strings.HasPrefix(l, "# ") {
				out = append(out, strings.TrimSpace(l))
			}
		}
		return out
	}
	if was, is := strings.Join(commands(old), "\n"), strings.Join(commands(now), "\n"); was != is {
		t.Errorf("%s has another run: go test ./kubeapi -update\nwas:\n%s\nis:\n%s", guide, was, is)
	}
}
