// SPDX-License-Identifier: Apache-2.0

// Package agentsandbox builds and runs the controller of the Kubernetes
// agent-sandbox project, unchanged: an operator that carries a trace context in
// the annotation opentelemetry.io/trace-context. What its objects and spans
// should look like is for the tests to say.
package agentsandbox

import (
	"context"
	_ "embed" // the pinned module
	"os"
	"path/filepath"

	"github.com/kube-lifeline/lifeline/e2e/internal/program"
)

// Version is what is built.
const Version = "v0.4.6"

const (
	module     = "sigs.k8s.io/agent-sandbox"
	controller = "agent-sandbox-controller"
	// crds is where the definitions of its kinds are, in its module and beside
	// the program.
	crds = "crds"
)

// Its go.mod and go.sum here: a module that has it as a tool. (A directory with
// a go.mod cannot be embedded.)
var (
	//go:embed agent-sandbox.mod
	goMod []byte
	//go:embed agent-sandbox.sum
	goSum []byte
)

// Build compiles the controller from its published module and returns the
// directory of the program and of its CRDs, which CRDs and Start take. Both are
// kept in the lab's cache from one run to the next. say gets a line when a
// build begins and ends: about two minutes on two cores.
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
