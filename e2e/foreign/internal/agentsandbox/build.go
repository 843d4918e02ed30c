// SPDX-License-Identifier: Apache-2.0

// Package agentsandbox builds and runs the unchanged controller of the Kubernetes project
// agent-sandbox. This operator stores trace contexts in the annotation
// opentelemetry.io/trace-context. Checks of its objects and spans are left to the tests.
package agentsandbox

import (
	"context"
	_ "embed" // the pinned module
	"os"
	"path/filepath"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// Version is the version of the built module.
const Version = "v0.4.6"

const (
	module     = "sigs.k8s.io/agent-sandbox"
	controller = "agent-sandbox-controller"
	// crds is the folder of the CustomResourceDefinitions, below k8s in the module and beside the
	// built program.
	crds = "crds"
)

// goMod and goSum are the go.mod and go.sum of a module with the controller as a tool. Their files
// have other names here, because Go cannot embed a folder with a go.mod.
var (
	//go:embed agent-sandbox.mod
	goMod []byte
	//go:embed agent-sandbox.sum
	goSum []byte
)

// Build compiles the controller from its published module. It returns the folder for CRDs and Run,
// which stays in the lab's cache. It calls say at the start and end of a build. A build takes about
// two minutes on two cores.
func Build(ctx context.Context, say func(format string, args ...any)) (string, error) {
	return program.Source{
		Name: "agent-sandbox", What: module + " " + Version,
		Files:   map[string][]byte{"go.mod": goMod, "go.sum": goSum},
		Compile: compile,
	}.Build(ctx, say)
}

func compile(ctx context.Context, w program.Workshop) error {
	if err := w.GoBuild(ctx, w.Module, module+"/cmd/"+controller, controller); err != nil {
		return err
	}
	from, err := w.Source(ctx, module)
	if err != nil {
		return err
	}
	return os.CopyFS(filepath.Join(w.Out, crds), os.DirFS(filepath.Join(from, "k8s", crds)))
}
