// SPDX-License-Identifier: Apache-2.0

package scheduler

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/component-base/term"
	"k8s.io/component-base/version/verflag"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
	"k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

// shutdownTimeout limits the delivery of the last spans.
const shutdownTimeout = 5 * time.Second

// NewCommand returns the command of a kube-scheduler with spans. It takes the place of
// app.NewSchedulerCommand, with the same options, flags and configuration. ExporterFromEnvironment
// describes the configuration of the spans.
func NewCommand(registryOptions ...app.Option) *cobra.Command {
	opts := options.NewOptions()
	command := app.NewSchedulerCommand(registryOptions...)
	// The original's flags set options that are out of reach. The same flags with our options take
	// their place; the usage text is the same.
	command.ResetFlags()
	flags := opts.Flags
	verflag.AddFlags(flags.FlagSet("global"))
	globalflag.AddGlobalFlags(flags.FlagSet("global"), command.Name(), logs.SkipLoggingConfigurationFlags())
	for _, set := range flags.FlagSets {
		command.Flags().AddFlagSet(set)
	}
	columns, _, _ := term.TerminalSize(command.OutOrStdout())
	flag.SetUsageAndHelpFunc(command, *flags, columns)
	if err := command.MarkFlagFilename("config", "yaml", "yml", "json"); err != nil {
		klog.Background().Error(err, "Failed to mark flag filename")
	}
	command.PersistentPreRunE = func(*cobra.Command, []string) error {
		return opts.ComponentGlobalsRegistry.Set() // the feature gates
	}
	command.RunE = func(command *cobra.Command, _ []string) error {
		return run(command, opts, registryOptions)
	}
	return command
}

// run is the original's runCommand with the spans between its set-up and its start.
func run(command *cobra.Command, opts *options.Options, registryOptions []app.Option) error {
	verflag.PrintAndExitIfRequested()
	gates := opts.ComponentGlobalsRegistry.FeatureGateFor(compatibility.DefaultKubeComponent)
	if err := logsapi.ValidateAndApply(opts.Logs, gates); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		os.Exit(1)
	}
	flag.PrintFlags(command.Flags())

	if opts.InformerName == nil { // of the informers' metrics
		name, err := cache.NewInformerName("kube-scheduler")
		if err != nil {
			return err
		}
		opts.InformerName = name
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var flush atomic.Pointer[func()]
	go terminate(server.SetupSignalHandler(), &flush, cancel)

	completed, sched, err := app.Setup(ctx, opts, registryOptions...)
	if err != nil {
		return err
	}
	if mutable, ok := gates.(featuregate.MutableFeatureGate); ok {
		mutable.AddMetrics()
	}
	opts.ComponentGlobalsRegistry.AddMetrics()

	exporter, err := ExporterFromEnvironment(ctx)
	if err != nil {
		return err
	}
	if exporter != nil {
		stop, err := Trace(sched, exporter)
		if err != nil {
			return err
		}
		end := sync.OnceFunc(func() {
			stop()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
			defer cancel()
			if err := exporter.Shutdown(ctx); err != nil {
				klog.FromContext(ctx).Error(err, "Cannot send the last spans")
			}
		})
		defer end()
		if completed.LeaderElection != nil {
			flush.Store(&end)
		}
	}
	return app.Run(ctx, completed, sched)
}

// terminate calls flush, if it is set, and then cancel, when a signal arrives. With leader election,
// app.Run exits the process once the context has ended, so the last spans go before that.
func terminate(signal <-chan struct{}, flush *atomic.Pointer[func()], cancel func()) {
	<-signal
	if f := flush.Load(); f != nil {
		(*f)()
	}
	cancel()
}
