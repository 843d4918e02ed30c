// SPDX-License-Identifier: Apache-2.0

// Package oauth2proxy builds an unchanged oauth2-proxy. Its configuration is left to the tests.
package oauth2proxy

import (
	"context"
	_ "embed" // the pinned module
	"path/filepath"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

const (
	module = "github.com/oauth2-proxy/oauth2-proxy/v7"
	binary = "oauth2-proxy"
	// version is the version of the module.
	version = "v7.15.6"
)

// goMod is a go.mod that requires oauth2-proxy, and goSum has the checksums of its module only. Those of its
// dependencies are in its own go.sum.
var (
	//go:embed oauth2proxy.mod
	goMod []byte
	//go:embed oauth2proxy.sum
	goSum []byte
)

var source = program.Source{
	Name: binary, What: module + " " + version,
	Files: map[string][]byte{"go.mod": goMod, "go.sum": goSum},
	Compile: func(ctx context.Context, w program.Workshop) error {
		dir, err := w.Source(ctx, module)
		if err != nil {
			return err
		}
		return w.GoBuild(ctx, dir, ".", binary)
	},
}

// Build returns the path of oauth2-proxy, which is compiled if the cache lacks it. say gets a line when that begins
// and ends.
func Build(ctx context.Context, say func(format string, args ...any)) (string, error) {
	dir, err := source.Build(ctx, say)
	return filepath.Join(dir, binary), err
}
