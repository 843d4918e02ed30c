// SPDX-License-Identifier: Apache-2.0

// Package jaeger builds and runs Jaeger, unchanged, and asks its query API. What
// it should answer is for the tests to say.
package jaeger

import (
	"context"
	_ "embed" // the pinned module

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// Version is what is built: the module's, whose program calls itself 2.13.
const Version = "v1.76.0"

const (
	module = "github.com/jaegertracing/jaeger"
	binary = "jaeger"
)

// A go.mod that requires it, and the sums of that one module: those of all
// others are in its own go.sum.
var (
	//go:embed jaeger.mod
	goMod []byte
	//go:embed jaeger.sum
	goSum []byte
)

// Source is Jaeger, compiled with the versions of its own go.mod. It is without
// its web page, which is in no module: a placeholder is in its place.
var Source = program.Source{
	Name: "jaeger", What: module + " " + Version,
	Files: map[string][]byte{"go.mod": goMod, "go.sum": goSum},
	Compile: func(ctx context.Context, w program.Workshop) error {
		// It has replace directives, which count in the main module only.
		dir, err := w.Source(ctx, module)
		if err != nil {
			return err
		}
		return w.GoBuild(ctx, dir, "./cmd/"+binary, binary)
	},
}
