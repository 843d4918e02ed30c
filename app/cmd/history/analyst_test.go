// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/archive/command"
	"github.com/kube-lifeline/lifeline/app/internal/ask"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

var update = flag.Bool("update", false, "rewrite the outputs in docs/guides/questions.md")

const (
	guide   = "../../../docs/guides/questions.md"
	section = "## Ten questions of an analyst\n"
)

// blocks are the commands of the section, each with its output.
var blocks = regexp.MustCompile("(?s)```console\n\\$ lifeline (.*?[^\\\\])\n(.*?)```\n")

// word is a word of a command in a shell.
var word = regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+)`)

// words returns the words of a command that may have several lines.
func words(text string) []string {
	var out []string
	for _, m := range word.FindAllStringSubmatch(strings.ReplaceAll(text, "\\\n", " "), -1) {
		out = append(out, m[1]+m[2]+m[3])
	}
	return out
}

// analyst answers the commands of the guide from an archive.
type analyst struct {
	dataDir, server string
	out             bytes.Buffer
}

// run runs a command, and returns its output.
func (a *analyst) run(ctx context.Context, args []string) (string, error) {
	a.out.Reset()
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &a.out, ErrOut: &a.out}
	now := func() time.Time { return example.End }
	var run interface {
		Validate() error
		Run(ctx context.Context) (int, error)
	}
	switch args[0] {
	case "find":
		f := &ask.Find{
			Options: cli.Options{Streams: streams, Now: now, Output: cli.OutputTable},
			Server:  cli.Server{URL: a.server, Named: true}, Where: args[1],
		}
		flags := pflag.NewFlagSet("find", pflag.ContinueOnError)
		flags.StringArrayVar(&f.By, "by", nil, "")
		flags.StringVar(&f.Of, "of", "", "")
		flags.StringSliceVar(&f.Quantiles, "quantiles", nil, "")
		flags.StringVar(&f.Sort, "sort", "", "")
		flags.BoolVar(&f.Reverse, "reverse", false, "")
		flags.StringVar(&f.Since, "since", "", "")
		flags.StringVar(&f.Zone, "tz", "", "")
		flags.IntVar(&f.Limit, "limit", 0, "")
		if err := flags.Parse(args[2:]); err != nil {
			return "", err
		}
		run = f
	case "regressions":
		r := &ask.Regressions{
			Options: cli.Options{Streams: streams, Now: now, Output: cli.OutputTable},
			Server:  cli.Server{URL: a.server, Named: true},
		}
		flags := pflag.NewFlagSet("regressions", pflag.ContinueOnError)
		flags.StringVarP(&r.Namespace, "namespace", "n", "", "")
		flags.StringVar(&r.Since, "since", "", "")
		flags.BoolVar(&r.Ended, "ended", false, "")
		if err := flags.Parse(args[1:]); err != nil {
			return "", err
		}
		r.Name = flags.Arg(0)
		run = r
	case "sql":
		run = &command.SQL{
			Options:   command.Options{Streams: streams, DataDir: a.dataDir, Now: now},
			Statement: args[1], Output: command.SQLOutputs()[0],
		}
	default:
		return "", fmt.Errorf("unknown command %q", args[0])
	}
	if err := run.Validate(); err != nil {
		return "", err
	}
	if code, err := run.Run(ctx); code != 0 || err != nil {
		return "", fmt.Errorf("code %d, %w: %s", code, err, a.out.String())
	}
	return a.out.String(), nil
}

// TestQuestionsOfAnalyst compares the outputs in the guide with those of the commands.
func TestQuestionsOfAnalyst(t *testing.T) {
	dataDir := t.TempDir()
	dir := datadir.Cluster(dataDir, "demo")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	archive, err := sqlite.Open(t.Context(), store.Config{Path: datadir.Archive(dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	if err := write(t.Context(), archive, example.traces()); err != nil {
		t.Fatal(err)
	}
	h, err := serving(archive, example.End, func() time.Time { return example.End })
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	a := &analyst{dataDir: dataDir, server: server.URL}
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), section)
	if !found {
		t.Fatalf("%s has no section %q", guide, section)
	}
	end := strings.Index(rest, "\n## ")
	asked := 0
	got := blocks.ReplaceAllStringFunc(rest[:end], func(block string) string {
		m := blocks.FindStringSubmatch(block)
		out, err := a.run(t.Context(), words(m[1]))
		if err != nil {
			t.Errorf("lifeline %s: %v", m[1], err)
			return block
		}
		asked++
		return "```console\n$ lifeline " + m[1] + "\n" + out + "```\n"
	})
	if asked != 10 {
		t.Errorf("%d questions", asked)
	}
	if *update {
		if err := os.WriteFile(guide, []byte(before+section+got+rest[end:]), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(rest[:end], got); diff != "" {
		t.Errorf("%s differs from the commands (-guide +commands); -update rewrites it:\n%s", filepath.Base(guide), diff)
	}
}
