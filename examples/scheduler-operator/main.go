// SPDX-License-Identifier: Apache-2.0

// Command scheduler-operator runs a second scheduler of a cluster. The profiles of the scheduler are
// SchedulingPolicies. "scheduler-operator compare" prints the difference of the scheduler's spans in
// two traces.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"

	"github.com/kube-lifeline/lifeline/examples/scheduler-operator/api/v1alpha1"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

func main() {
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil)))
	if err := command(ctrl.SetupSignalHandler(), os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "scheduler-operator:", err)
		os.Exit(1)
	}
}

// options are the flags of the operator.
type options struct {
	scheduler string
	namespace string
	// health is the address of the probes; "0" means none.
	health  string
	tracing tracing.Options
	// kubeconfig is the flag of controller-runtime.
	kubeconfig *flag.Flag
	// schedulerPath is the kubeconfig of the scheduler; empty means that of the operator.
	schedulerPath string
}

func (o *options) register(flags *flag.FlagSet) {
	config.RegisterFlags(flags)
	o.kubeconfig = flags.Lookup(config.KubeconfigFlagName)
	flags.StringVar(&o.scheduler, "scheduler", "lifeline-scheduler",
		"program of the scheduler; OTEL_EXPORTER_OTLP_ENDPOINT is the receiver of its spans")
	flags.StringVar(&o.schedulerPath, "scheduler-kubeconfig", "",
		"kubeconfig of the scheduler, with the rights of system:kube-scheduler (default the operator's)")
	flags.StringVar(&o.namespace, "namespace", "scheduler-operator-system",
		"existing namespace for the ConfigMap with the scheduler's configuration")
	flags.StringVar(&o.health, "health-probe-bind-address", "0", "address for /healthz and /readyz; 0 means none")
	o.tracing.BindFlags(flags)
}

// schedulerKubeconfig returns the absolute path of the scheduler's kubeconfig. It is empty for the
// service account of a Pod. The default is the operator's kubeconfig, in the order of precedence of
// controller-runtime's GetConfig. Several files in KUBECONFIG are merged into one in dir.
func (o *options) schedulerKubeconfig(dir string) (string, error) {
	if path := cmp.Or(o.schedulerPath, o.kubeconfig.Value.String()); path != "" {
		return filepath.Abs(path)
	}
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" {
		if _, err := rest.InClusterConfig(); err == nil {
			return "", nil
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if len(rules.Precedence) == 1 {
		return filepath.Abs(rules.Precedence[0])
	}
	merged, err := rules.Load()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "kubeconfig")
	return path, clientcmd.WriteToFile(*merged, path)
}

// command runs the command in args until it ends or ctx ends.
func command(ctx context.Context, args []string, talk io.Writer) error {
	if len(args) > 0 && args[0] == "compare" {
		return compareCommand(args[1:], os.Stdout)
	}
	return operatorCommand(ctx, args, talk)
}

// operatorCommand runs the operator until ctx ends.
func operatorCommand(ctx context.Context, args []string, talk io.Writer) error {
	var o options
	flags := flag.NewFlagSet("scheduler-operator", flag.ContinueOnError)
	flags.SetOutput(talk)
	o.register(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	o.tracing.ServiceName = "scheduler-operator"
	tracer, err := tracing.New(o.tracing)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "scheduler-operator-")
	if err != nil {
		return fmt.Errorf("cannot make a directory for the scheduler's configuration: %w", err)
	}
	defer os.RemoveAll(dir)
	mgr, err := o.manager(tracer, dir, talk)
	if err != nil {
		return err
	}
	defer flush(ctx, tracer)
	return mgr.Start(ctx)
}

// flush sends the last spans. The timeout limits the wait for an unreachable collector.
func flush(ctx context.Context, tracer *tracing.Tracing) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := tracer.Shutdown(ctx); err != nil {
		ctrl.Log.Error(err, "cannot send the last spans")
	}
}

// newScheme returns a scheme with Kubernetes' kinds and the operator's.
func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme))
}
