// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// asProgram makes the test binary the program itself, for the shells of the tests.
const asProgram = "LIFELINE_TEST_AS_PROGRAM"

// shell prepares the test for a shell with the program in its $PATH. It returns the shell, and the file
// with its completion script. Without the shell, the test is skipped.
func shell(t *testing.T, name string) (program, script string) {
	t.Helper()
	program, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("there is no %s to complete in", name)
	}
	noConfig(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "lifeline")); err != nil {
		t.Skipf("cannot link the program: %v", err)
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv(asProgram, "1")
	text, err := exec.CommandContext(t.Context(), filepath.Join(dir, "lifeline"), "completion", name).Output()
	if err != nil {
		t.Fatalf("no completion script: %v", err)
	}
	script = filepath.Join(dir, "script")
	if err := os.WriteFile(script, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return program, script
}

// runShell returns what a shell prints for a script.
func runShell(t *testing.T, program, script string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"-c", script, "shell"}, args...)...)
	var log bytes.Buffer
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", program, err, out, &log)
	}
	return string(out)
}

// TestBashCompletesInQuotes: the function that bash calls at a Tab has the words of a question.
func TestBashCompletesInQuotes(t *testing.T) {
	bash, script := shell(t, "bash")
	// The first function stands for the package bash-completion, which keeps words with = in one piece.
	const tab = `
_get_comp_words_by_ref() { words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; cur=${COMP_WORDS[COMP_CWORD]}; }
source "$1"; shift
COMP_WORDS=(lifeline "$@"); COMP_CWORD=$#; COMP_TYPE=9; COLUMNS=80
__start_lifeline
printf '%s\n' "${COMPREPLY[@]}"`
	for name, tc := range map[string]struct {
		words []string
		want  []string // the first ones
	}{
		"a value": {
			[]string{"find", `'kind == "Po`}, []string{`kind == "Pod"`, `kind == "PodDisruptionBudget"`},
		},
		"several spaces": {[]string{"find", `'kind  ==  "Nod`}, []string{`kind  ==  "Node"`}},
		"a field":        {[]string{"find", `'phase.pul`}, []string{"phase.pull"}},
		"double quotes":  {[]string{"find", `"phase.pul`}, []string{"phase.pull"}},
		"escaped": {
			[]string{"find", `"name == \"\$x\" && kind == \"Nod`}, []string{`name == \"\$x\" && kind == \"Node\"`},
		},
		"a duration": {
			[]string{"find", "x", "--of", `'ended.readiness - began.pul`}, []string{"ended.readiness - began.pull"},
		},
		"a flag with =": {
			[]string{"find", "x", `--of='ended.readiness - began.pul`}, []string{"ended.readiness - began.pull"},
		},
		"no word":          {[]string{"find", `'phase.xyz`}, []string{""}},
		"without quotes":   {[]string{"why", "deploym"}, []string{"deployment"}},
		"a value after =":  {[]string{"ls", "--sort-by=dur"}, []string{"duration"}},
		"a separate value": {[]string{"ls", "--sort-by", "dur"}, []string{"duration"}},
	} {
		t.Run(name, func(t *testing.T) {
			out := runShell(t, bash, tab, append([]string{script}, tc.words...)...)
			got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if !slices.Equal(got[:min(len(got), len(tc.want))], tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestZshCompletesInQuotes types into a zsh on a terminal.
func TestZshCompletesInQuotes(t *testing.T) {
	zsh, script := shell(t, "zsh")
	dir := t.TempDir()
	// ^X prints the line.
	const setup = `
PS1=
autoload -U compinit; compinit -u -D
show() { print -r -- "<<$BUFFER>>"; BUFFER= }
zle -N show; bindkey '^X' show
zle-line-init() { print -r READY }
zle -N zle-line-init
source "$SCRIPT"
`
	if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte(setup), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZDOTDIR", dir)
	t.Setenv("SCRIPT", script)
	t.Setenv("TERM", "dumb")
	const typed = `
zmodload zsh/zpty || { print -r "no zpty"; exit }
zpty z "$0 -d -i" || exit
zpty -r z out '*READY*'
zpty -w -n z "$1"$'\t\030'
zpty -r z out $'*<<*>>*'
print -r -- "$out"
zpty -d z`
	for name, tc := range map[string]struct{ line, want string }{
		"a value":        {`lifeline find 'kind == "Nod`, `lifeline find 'kind == "Node"`},
		"several spaces": {`lifeline find 'kind  ==  "Nod`, `lifeline find 'kind  ==  "Node"`},
		"several":        {`lifeline find 'kind == "Po`, `lifeline find 'kind == "Pod`},
		"a field":        {`lifeline find 'phase.pul`, `lifeline find 'phase.pull`},
		"double quotes":  {`lifeline find "phase.pul`, `lifeline find "phase.pull`},
		"escaped":        {`lifeline find "kind == \"Nod`, `lifeline find "kind == \"Node\"`},
		"a duration": {
			`lifeline find x --of 'ended.readiness - began.pul`, `lifeline find x --of 'ended.readiness - began.pull`,
		},
		"without quotes":  {`lifeline why deploym`, `lifeline why deployment`},
		"a value after =": {`lifeline ls --sort-by=dur`, `lifeline ls --sort-by=duration`},
	} {
		t.Run(name, func(t *testing.T) {
			out := strings.ReplaceAll(runShell(t, zsh, strings.ReplaceAll(typed, "$0", zsh), tc.line), "\r", "")
			if out == "no zpty\n" {
				t.Skip("this zsh has no terminals (zsh/zpty)")
			}
			if _, got, _ := strings.Cut(out, "<<"); !strings.HasPrefix(got, tc.want) {
				t.Errorf("got %q, want %q", out, tc.want)
			}
		})
	}
}

// TestChangedScript: another version of cobra needs other replacements.
func TestChangedScript(t *testing.T) {
	if _, err := replaced("nothing known", bashInQuotes); err == nil {
		t.Error("a script without the replaced lines is accepted")
	}
}
