// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	ctrlwebhook "sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/kube-lifeline/lifeline/examples/head-operator/internal/controller"
	"github.com/kube-lifeline/lifeline/examples/head-operator/internal/webhook"
	"github.com/kube-lifeline/lifeline/operator"
	"github.com/kube-lifeline/lifeline/operator/tracing"
)

// managerOptions are the flags of the operator.
type managerOptions struct {
	webhook       ctrlwebhook.Options
	metrics       string
	health        string
	leaderElect   bool
	leaderElectNS string
	tracing       tracing.Options
	linkMode      bool
	untraced      bool
}

func (o *managerOptions) register(flags *flag.FlagSet) {
	config.RegisterFlags(flags)
	flags.StringVar(&o.webhook.Host, "webhook-host", "", "listen address of the webhook (default all)")
	flags.IntVar(&o.webhook.Port, "webhook-port", 9443, "port of the webhook; 0 means no webhook")
	flags.StringVar(&o.webhook.CertDir, "webhook-cert-dir", "", "directory of the webhook's tls.crt and tls.key")
	flags.StringVar(&o.metrics, "metrics-bind-address", "0", "address for metrics; 0 means none")
	flags.StringVar(&o.health, "health-probe-bind-address", "0", "address for /healthz and /readyz; 0 means none")
	flags.BoolVar(&o.leaderElect, "leader-elect", false, "use leader election, so that only one replica is active")
	o.tracing.BindFlags(flags)
	flags.BoolVar(&o.linkMode, "trace-links", false,
		"start a new trace per reconcile, with a link to the object's trace")
	flags.BoolVar(&o.untraced, "without-kit", false, "run without the tracing kit")
	flags.StringVar(&o.leaderElectNS, "leader-elect-namespace", "",
		"namespace of the lease (default in a cluster: the operator's namespace)")
}

// managerCommand runs the operator until ctx ends.
func managerCommand(ctx context.Context, args []string, talk io.Writer) error {
	var o managerOptions
	flags := flag.NewFlagSet("head-operator", flag.ContinueOnError)
	o.register(flags)
	if err := parse(flags, args, talk); err != nil {
		return err
	}
	o.tracing.ServiceName = "head-operator"
	tracer, err := tracing.New(o.tracing)
	if err != nil {
		return err
	}
	mgr, err := o.manager(tracer)
	if err != nil {
		return err
	}
	if err := o.setup(mgr); err != nil {
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

// manager returns a manager without controllers.
func (o *managerOptions) manager(tracer *tracing.Tracing) (ctrl.Manager, error) {
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot load the cluster configuration: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	options := ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: o.metrics},
		HealthProbeBindAddress:        o.health,
		WebhookServer:                 ctrlwebhook.NewServer(o.webhook),
		LeaderElection:                o.leaderElect,
		LeaderElectionID:              "head-operator.demo.lifeline.dev",
		LeaderElectionNamespace:       o.leaderElectNS,
		LeaderElectionReleaseOnCancel: true, // safe, because the process ends with the manager
	}
	if o.untraced {
		return ctrl.NewManager(cfg, options)
	}
	// The kit's first line: the client, the cache and the requests are traced.
	return operator.NewManager(cfg, options, o.kit(tracer)...)
}

func (o *managerOptions) kit(tracer *tracing.Tracing) []operator.Option {
	kit := []operator.Option{operator.WithTracerProvider(tracer)}
	if o.linkMode {
		kit = append(kit, operator.WithLinks())
	}
	return kit
}

// setup adds the controllers, the webhook and the probes to the manager.
func (o *managerOptions) setup(mgr ctrl.Manager) error {
	if err := (&controller.HeadReconciler{}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("cannot set up the Head controller: %w", err)
	}
	if err := (&controller.ChildAReconciler{}).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("cannot set up the ChildA controller: %w", err)
	}
	ready := healthz.Ping
	if o.webhook.Port != 0 {
		webhook.HeadDefaulter{}.SetupWithManager(mgr)
		ready = mgr.GetWebhookServer().StartedChecker()
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return fmt.Errorf("cannot add the liveness probe: %w", err)
	}
	if err := mgr.AddReadyzCheck("webhook", ready); err != nil {
		return fmt.Errorf("cannot add the readiness probe: %w", err)
	}
	return nil
}
