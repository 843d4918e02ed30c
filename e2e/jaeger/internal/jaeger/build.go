// SPDX-License-Identifier: Apache-2.0

// Package jaeger builds and runs an unchanged Jaeger, and queries its API. Checks of the responses
// are left to the tests.
package jaeger

import (
	"context"
	_ "embed" // the pinned module

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// Version is the version of the module. The program reports its version as 2.13.
const Version = "v1.76.0"

const (
	module = "github.com/jaegertracing/jaeger"
	binary = "jaeger"
)

// goMod is a go.mod that requires Jaeger, and goSum has the checksums of Jaeger's module only.
// Those of its dependencies are in Jaeger's go.sum.
var (
	//go:embed jaeger.mod
	goMod []byte
	//go:embed jaeger.sum
	goSum []byte
)

// Source builds Jaeger with the dependencies of its go.mod. Its web page is a placeholder, because
// the module does not contain the page.
var Source = program.Source{
	Name: "jaeger", What: module + " " + Version,
	Files: map[string][]byte{"go.mod": goMod, "go.sum": goSum},
	Compile: func(ctx context.Context, w program.Workshop) error {
		// Its replace directives work only in the main module.
		dir, err := w.Source(ctx, module)
		if err != nil {
			return err
		}
		return w.GoBuild(ctx, dir, "./cmd/"+binary, binary)
	},
}
