// SPDX-License-Identifier: Apache-2.0

// Package otelcol builds and runs an OpenTelemetry Collector, whose parts are
// unchanged and some of those of the published image. What it is to do its
// configuration says.
package otelcol

import (
	"context"
	_ "embed" // the pinned module
	"path/filepath"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// Version is that of the Collector.
const Version = "v0.162.0"

const binary = "otelcol"

// A directory with a go.mod cannot be embedded.
var (
	//go:embed otelcol.mod
	goMod []byte
	//go:embed otelcol.sum
	goSum []byte
	//go:embed main.go
	mainGo []byte
)

// source is the Collector: about a minute on two cores.
var source = program.Source{
	Name: binary, What: "go.opentelemetry.io/collector " + Version,
	Files: map[string][]byte{"go.mod": goMod, "go.sum": goSum, "main.go": mainGo},
	Compile: func(ctx context.Context, w program.Workshop) error {
		return w.GoBuild(ctx, w.Module, "main.go", binary)
	},
}

// Build returns the path of the Collector, which is compiled if the cache lacks
// it. say gets a line when that begins and ends.
func Build(ctx context.Context, say func(format string, args ...any)) (string, error) {
	dir, err := source.Build(ctx, say)
	return filepath.Join(dir, binary), err
}
