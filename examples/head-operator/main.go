// SPDX-License-Identifier: Apache-2.0

// Command head-operator runs the controllers of Heads and ChildAs and the admission webhook of
// Heads. It runs in a cluster or outside one. "head-operator install" installs the kinds and the
// webhook configuration.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"

	demov1alpha1 "github.com/kube-lifeline/lifeline/examples/head-operator/api/v1alpha1"
)

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	if err := command(ctrl.SetupSignalHandler(), os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "head-operator:", err)
		os.Exit(1)
	}
}

// command runs the command in args until it ends or ctx ends.
func command(ctx context.Context, args []string, talk io.Writer) error {
	if len(args) > 0 && args[0] == "install" {
		return installCommand(ctx, args[1:], talk)
	}
	return managerCommand(ctx, args, talk)
}

// parse parses the flags of one command, which takes no other arguments.
func parse(flags *flag.FlagSet, args []string, talk io.Writer) error {
	flags.SetOutput(talk)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}

// newScheme returns a scheme with Kubernetes' kinds and the operator's.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), demov1alpha1.AddToScheme(scheme))
}
