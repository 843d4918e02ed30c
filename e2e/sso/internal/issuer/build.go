// SPDX-License-Identifier: Apache-2.0

package issuer

import (
	"context"
	_ "embed" // the pinned module
	"path/filepath"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

const (
	binary = "issuer"
	// version is the version of the provider's module.
	version = "v3.52.0"
)

// A directory with a go.mod cannot be embedded.
var (
	//go:embed issuer.mod
	goMod []byte
	//go:embed issuer.sum
	goSum []byte
	//go:embed main.go
	mainGo []byte
)

var source = program.Source{
	Name: binary, What: "an issuer with github.com/zitadel/oidc/v3 " + version,
	Files: map[string][]byte{"go.mod": goMod, "go.sum": goSum, "main.go": mainGo},
	Compile: func(ctx context.Context, w program.Workshop) error {
		return w.GoBuild(ctx, w.Module, "main.go", binary)
	},
}

// Build returns the path of the issuer's program, which is compiled if the cache lacks it. say gets a line when that
// begins and ends.
func Build(ctx context.Context, say func(format string, args ...any)) (string, error) {
	dir, err := source.Build(ctx, say)
	return filepath.Join(dir, binary), err
}
