// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// texts is where a release takes the manual pages and the completion scripts from.
var texts = flag.String("texts", "", "write manual pages and completion scripts to this folder")

// TestTexts writes the texts of a release: a manual page for each command in man, and a script for each shell in
// completions. Their date is SOURCE_DATE_EPOCH.
func TestTexts(t *testing.T) {
	dir := *texts
	if dir == "" {
		dir = t.TempDir()
	}
	writeCompletions(t, filepath.Join(dir, "completions"))
	writeManualPages(t, filepath.Join(dir, "man"))
}

func writeCompletions(t *testing.T, dir string) {
	t.Helper()
	makeDir(t, dir)
	for shell, file := range map[string]string{
		"bash": "lifeline.bash", "zsh": "_lifeline", "fish": "lifeline.fish", "powershell": "lifeline.ps1",
	} {
		var out, errOut bytes.Buffer
		root := newRoot(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, "lifeline")
		root.SetArgs([]string{"completion", shell})
		if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "__complete") {
			t.Errorf("completion %s: %v, %d bytes, %s", shell, err, out.Len(), errOut.String())
		}
		writeText(t, filepath.Join(dir, file), out.Bytes())
	}
}

func writeManualPages(t *testing.T, dir string) {
	t.Helper()
	makeDir(t, dir)
	noConfig(t)
	t.Setenv("HOME", "~") // for defaults of flags
	epoch, _ := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	date := time.Unix(epoch, 0).UTC()
	root := newRoot(genericiooptions.NewTestIOStreamsDiscard(), "lifeline")
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "Lifeline", Manual: "Lifeline"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		page := filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1")
		text, err := os.ReadFile(page)
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(strings.ReplaceAll(string(text), `\-`, "-"), cmd.Short) {
			t.Errorf("%s does not have %q", page, cmd.Short)
		}
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
				check(sub)
			}
		}
	}
	check(root)
}

func makeDir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func writeText(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}
