// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

// completed returns the words for the last of args without their descriptions, the directive, and
// what was printed on standard error beside it.
func completed(t *testing.T, args ...string) (words []string, directive, log string) {
	t.Helper()
	var out, errOut strings.Builder
	root := newRoot(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, "lifeline")
	all := append([]string{cobra.ShellCompRequestCmd}, args...)
	argv := os.Args
	os.Args = append([]string{"lifeline"}, all...)
	defer func() { os.Args = argv }()
	root.SetArgs(all)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for _, line := range lines[:len(lines)-1] {
		word, _, _ := strings.Cut(line, "\t")
		words = append(words, word)
	}
	log = errOut.String()
	if i := strings.Index(log, "Completion ended with directive: "); i >= 0 {
		log = log[:i]
	}
	return words, lines[len(lines)-1], log
}

// noConfig leaves the test without a kubeconfig and without a server.
func noConfig(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"HOME": dir, "KUBECONFIG": filepath.Join(dir, "none"), "LIFELINE_SERVER": "none",
		"KUBERNETES_SERVICE_HOST": "", "LIFELINE_TOKEN_FILE": "", "LIFELINE_CA_FILE": "",
	} {
		t.Setenv(name, value)
	}
}

const noFiles, noFilesNoSpace, files = ":4", ":6", ":0"

func TestCompletion(t *testing.T) {
	noConfig(t)
	asOf := spantest.Epoch.Add(time.Minute)
	evil := spantest.New("evil")
	evil.Pod(nil, "$(touch x)", 0, 10).Object.Namespace = "`x`"
	v := viewtest.New(t)
	v.Put(t, asOf, viewtest.Traces{Finished: []*span.Trace{spantest.Apply(), spantest.Rollout(), evil.Trace}})
	handler, err := api.New(api.Options{Access: v.Access, Clock: func() time.Time { return asOf }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() { handler.Close(); server.Close() })
	at := "--server=" + server.URL
	rollout := spantest.Rollout().ID.String()[:8]
	for name, tc := range map[string]struct {
		args, want, not []string
		directive       string
	}{
		"commands": {[]string{"wh"}, []string{"why"}, nil, noFiles},
		"kinds":    {[]string{"why", ""}, []string{"deployment", "pod", "certificate"}, []string{rollout}, noFiles},
		"a kind":   {[]string{"ls", "dep"}, []string{"deployment"}, []string{"pod"}, noFiles},
		"names": {
			[]string{"why", at, "-n", "default", "deployment", ""}, []string{"web"}, []string{"web-6cf"}, noFiles,
		},
		"short kind":   {[]string{"ls", at, "-n", "default", "deploy/w"}, []string{"deploy/web"}, nil, noFiles},
		"no such name": {[]string{"ls", at, "-n", "default", "deploy/x"}, nil, []string{"deploy/web"}, noFiles},
		"hostile":      {[]string{"ls", at, "-A", "pod/"}, nil, []string{"pod/$(touch x)"}, noFiles},
		"other namespace": {
			[]string{"why", at, "-n", "none", "deployment", ""}, nil, []string{"web"}, noFiles,
		},
		"one object":    {[]string{"trace", at, "deployment/web", ""}, nil, []string{"web", "pod"}, noFiles},
		"trace IDs":     {[]string{"trace", at, ""}, []string{rollout, "deployment"}, nil, noFiles},
		"a trace ID":    {[]string{"trace", at, rollout[:2]}, []string{rollout}, []string{"deployment"}, noFiles},
		"several":       {[]string{"watch", at, "deploy/web", "po"}, []string{"pod/"}, []string{"pod"}, noFilesNoSpace},
		"several names": {[]string{"watch", at, "-A", "pod/x", "deploy/"}, []string{"deploy/web"}, nil, noFiles},
		"namespaces":    {[]string{"ls", at, "-n", ""}, []string{"default"}, []string{"`x`"}, noFiles},
		"of run":        {[]string{"run", at, "--namespace", "de"}, []string{"default"}, nil, noFiles},
		"flags":         {[]string{"ls", "--tok"}, []string{"--token-file"}, nil, noFiles},
		"values":        {[]string{"ls", "--sort-by", "d"}, []string{"duration"}, nil, noFiles},
		"categories":    {[]string{"ls", "--category", "image"}, []string{"image_not_found"}, nil, noFiles},
		"files":         {[]string{"ls", "--token-file", ""}, nil, nil, files},
		"more names":    {[]string{"why", at, "-n", "default", "deployment", "api", ""}, []string{"web"}, nil, noFiles},
		"no server":     {[]string{"why", "deployment", ""}, nil, nil, noFiles},
		"a dead server": {[]string{"why", "--server=http://127.0.0.1:1", "deployment", ""}, nil, nil, noFiles},
		"no kind":       {[]string{"why", at, "deploymnt", ""}, nil, nil, noFiles},
	} {
		t.Run(name, func(t *testing.T) {
			words, directive, log := completed(t, tc.args...)
			for _, want := range tc.want {
				if !slices.Contains(words, want) {
					t.Errorf("%q is missing in %q", want, words)
				}
			}
			for _, not := range tc.not {
				if slices.Contains(words, not) {
					t.Errorf("%q is among %q", not, words)
				}
			}
			if directive != tc.directive || log != "" {
				t.Errorf("directive %s, want %s; printed %q", directive, tc.directive, log)
			}
		})
	}
}

// TestSlowCompletion: a server that does not answer delays a completion only shortly.
func TestSlowCompletion(t *testing.T) {
	noConfig(t)
	server := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	)
	t.Cleanup(server.Close)
	begun := time.Now()
	words, directive, log := completed(t, "why", "--server="+server.URL, "deployment", "")
	if took := time.Since(begun); took > 5*time.Second || len(words) > 0 || directive != noFiles || log != "" {
		t.Errorf("after %s: %q %s %q", took, words, directive, log)
	}
}

// TestCompletionOfCommand: after run, the shell gets programs, and the words that kubectl gives.
func TestCompletionOfCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the programs of this test are shell scripts")
	}
	noConfig(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	script := "#!/bin/sh\nprintf '%s\\tabout\\n' \"$@\"\necho noise >&2\necho :4\n"
	for name, mode := range map[string]os.FileMode{"kubectl": 0o755, "kubetool": 0o755, "kubenotes": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		args, want, not []string
		directive       string
	}{
		"programs":    {[]string{"run", "--", "kube"}, []string{"kubectl", "kubetool"}, []string{"kubenotes"}, noFiles},
		"without --":  {[]string{"run", "-n", "x", "kube"}, []string{"kubectl"}, nil, noFiles},
		"a path":      {[]string{"run", "--", "./ku"}, nil, []string{"kubectl"}, files},
		"of kubectl":  {[]string{"run", "--", "kubectl", "get", "po"}, []string{"__complete", "po"}, nil, noFiles},
		"a flag":      {[]string{"run", "--", "kubectl", "--na"}, []string{"--na"}, []string{"--namespace"}, noFiles},
		"its value":   {[]string{"run", "--", "kubectl", "get", "-n", "sh"}, []string{"get", "-n", "sh"}, nil, noFiles},
		"inner --":    {[]string{"run", "kubectl", "exec", "p", "--", "ls"}, []string{"exec", "p", "ls"}, nil, noFiles},
		"of no other": {[]string{"run", "--", "kubetool", "x"}, nil, []string{"x"}, files},
	} {
		t.Run(name, func(t *testing.T) {
			words, directive, log := completed(t, tc.args...)
			for _, want := range tc.want {
				if !slices.Contains(words, want) {
					t.Errorf("%q is missing in %q", want, words)
				}
			}
			for _, not := range tc.not {
				if slices.Contains(words, not) {
					t.Errorf("%q is among %q", not, words)
				}
			}
			if directive != tc.directive || log != "" {
				t.Errorf("directive %s, want %s; printed %q", directive, tc.directive, log)
			}
		})
	}
}

// TestFixedValues: a flag whose help lists its values completes them.
func TestFixedValues(t *testing.T) {
	var visit func(cmd *cobra.Command)
	seen := 0
	visit = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(f.Usage, ": ") || strings.Count(f.Usage, ", ") == 0 ||
				f.Annotations[ofKubeconfig] != nil ||
				!slices.Contains([]string{"output", "sort-by", "convention", "category"}, f.Name) {
				return
			}
			seen++
			if _, there := cmd.GetFlagCompletionFunc(f.Name); !there {
				t.Errorf("%s --%s (%s) has no completion", cmd.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(genericiooptions.IOStreams{}, "lifeline"))
	if seen < 5 {
		t.Errorf("only %d flags list their values", seen)
	}
}

// TestCompletionScripts: each shell has a script that calls the program.
func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		var out strings.Builder
		root := newRoot(genericiooptions.IOStreams{Out: &out, ErrOut: &out}, "lifeline")
		root.SetArgs([]string{"completion", shell})
		if err := root.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), cobra.ShellCompRequestCmd) {
			t.Errorf("%s: the script is %q", shell, out.String())
		}
	}
}
