// SPDX-License-Identifier: Apache-2.0

// Package cli holds what the commands share: options, output formats, exit codes, the server and
// the object that a user names.
package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// Lifeline's own exit codes. After an interrupt the code is CodeInterrupted; otherwise the
// failure code of the traced command takes precedence.
const (
	CodeOK          = 0
	CodeError       = 1
	CodeUnsettled   = 3
	CodeFailed      = 4
	CodeNotRunnable = 126
	CodeNotFound    = 127
	CodeInterrupted = 130
)

// The output formats.
const (
	OutputTree    = "tree"
	OutputTable   = "table"
	OutputMermaid = "mermaid"
	OutputDOT     = "dot"
	OutputJSON    = "json"
	OutputYAML    = "yaml"
	OutputName    = "name"
	// OutputPerfetto is for ui.perfetto.dev.
	OutputPerfetto = "perfetto"
	// OutputHTML is one file with the view of a trace; only `lifeline trace` has it.
	OutputHTML = "html"
)

// Outputs returns the output formats, the default first.
func Outputs() []string {
	return []string{
		OutputTree, OutputTable, OutputMermaid, OutputDOT, OutputPerfetto, OutputJSON, OutputYAML, OutputName,
	}
}

// CheckOutput returns an error for an output format that is not known.
func CheckOutput(name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("unknown output %q: known are %s", name, strings.Join(known, ", "))
}

// Options are common to all commands.
type Options struct {
	// Kubeconfig may be nil for commands that need only a server.
	Kubeconfig *proxy.Kubeconfig
	// Mapper returns the kinds of the kubeconfig's cluster; nil without a cluster.
	Mapper  Mapper
	Streams genericiooptions.IOStreams
	// Everywhere means that the command is about all namespaces, not about that of the kubeconfig.
	Everywhere bool
	// Output is one of Outputs. Full draws every span in the final tree.
	Output string
	Full   bool
	// Version is the build version in requests to API servers.
	Version string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Environ is the environment; nil means that of the process.
	Environ []string
	// Patience is the least time for a request that only completes an answer; 0 leaves the usual times.
	Patience time.Duration
}

// Beside returns the time for a request that only completes an answer, which usually has that time.
func (o *Options) Beside(usual time.Duration) time.Duration { return max(usual, o.Patience) }

// Time returns the time of the clock.
func (o *Options) Time() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// Machine reports whether the output is a document for programs, without any other text.
func (o *Options) Machine() bool {
	switch o.Output {
	case OutputMermaid, OutputDOT, OutputPerfetto, OutputHTML, OutputJSON, OutputYAML, OutputName:
		return true
	}
	return false
}

// Say prints one line for the user before a pipeline exists.
func (o *Options) Say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Streams.ErrOut, "lifeline: "+format+"\n", args...)
}

// UserAgent returns the name of this build in requests to API servers.
func (o *Options) UserAgent() string { return "lifeline/" + First(o.Version, "devel") }

// Environment returns the environment as NAME=VALUE.
func (o *Options) Environment() []string {
	if o.Environ != nil {
		return o.Environ
	}
	return os.Environ()
}

// First returns the first text that is not empty.
func First(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}
