// SPDX-License-Identifier: Apache-2.0

// Command replay prints the traces in a recording, as `lifeline replay` does.
// It has no Kubernetes client, so it compiles in a fraction of the time: `make
// demo` shows a recording with it while Kubernetes builds.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/replay"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: replay FILE")
		os.Exit(2)
	}
	if err := show(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "replay: %v\n", err)
		os.Exit(1)
	}
}

// show prints the traces before a damage, too.
func show(ctx context.Context, path string) error {
	file, err := observation.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	result, damage := replay.Traces(ctx, file.Reader)
	return errors.Join(damage, render.Tree(os.Stdout, result.Traces, render.Options{Now: result.End}))
}
