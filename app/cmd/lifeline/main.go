// SPDX-License-Identifier: Apache-2.0

// Command lifeline shows, as one trace, everything that a change does in a
// Kubernetes cluster. It is also a kubectl plugin, as kubectl-lifeline.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

func main() {
	// Callers of client-go report its errors better than its log.
	klog.SetLogger(logr.Discard())
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	err := newRoot(streams, os.Args[0]).ExecuteContext(context.Background())
	os.Exit(codeOf(err, streams))
}

// exit is an error with the process' exit code and a message.
type exit struct {
	code int
	err  error
}

// Error implements error.
func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

// codeOf prints the remaining message, in one line, and returns the exit code.
func codeOf(err error, streams genericiooptions.IOStreams) int {
	if err == nil {
		return cli.CodeOK
	}
	code := cli.CodeError
	var e *exit
	if errors.As(err, &e) {
		code, err = e.code, e.err
	}
	if err != nil {
		_, _ = fmt.Fprintf(streams.ErrOut, "lifeline: %s\n", cli.OneLine(suggested(err)))
	}
	return code
}
