// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/run"
)

// watchFlags are the flags of lifeline watch.
type watchFlags struct {
	*common
	record, otlp string
	duration     time.Duration
}

func newWatch(streams genericiooptions.IOStreams) *cobra.Command {
	f := &watchFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "watch [KIND/NAME...]",
		Short: "Show each change in the cluster as it happens",
		Long: `Show each change in the cluster as it happens: its trace is printed when it has
settled. With names, only changes that those objects take part in are shown.
Ctrl-C ends it and prints what is still open. With -o json, each trace is one
OTLP document on a line of its own.`,
		Example: `  lifeline watch -n shop
  lifeline watch deployment/web -o json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := f.complete(args)
			if err != nil {
				return err
			}
			return execute(cmd.Context(), w)
		},
	}
	flags := cmd.Flags()
	f.addConfig(cmd)
	f.addOutput(flags)
	f.addEverywhere(flags)
	flags.DurationVar(&f.duration, "for", 0, "end after this time; without it, at Ctrl-C")
	flags.StringVar(&f.record, "record", "", "also record what is seen to this file, for lifeline replay")
	flags.StringVar(&f.otlp, "otlp", "", otlpUsage)
	completeOutput(cmd)
	return cmd
}

func (f *watchFlags) complete(args []string) (*run.Watch, error) {
	o, err := f.connected()
	if err != nil {
		return nil, err
	}
	w := &run.Watch{Options: o, Namespaces: f.namespaces(o), Record: f.record, OTLP: f.otlp, For: f.duration}
	if len(args) == 0 {
		return w, nil
	}
	mapper, err := f.config.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("cannot ask %s for its kinds: %w", o.Kubeconfig.Current().Host, err)
	}
	for _, arg := range args {
		target, err := resolve(mapper, arg)
		if err != nil {
			return nil, err
		}
		w.Targets = append(w.Targets, target)
	}
	return w, nil
}

// resolve finds the kind that KIND/NAME names: by kind, resource or short name,
// with or without version and group.
func resolve(mapper meta.RESTMapper, arg string) (run.Target, error) {
	kind, name, ok := strings.Cut(arg, "/")
	if !ok || kind == "" || name == "" {
		return run.Target{}, fmt.Errorf("%q is not KIND/NAME", arg)
	}
	full, short := schema.ParseResourceArg(strings.ToLower(kind))
	found, err := schema.GroupVersionResource{}, error(nil)
	if full != nil {
		found, err = mapper.ResourceFor(*full)
	}
	if full == nil || err != nil {
		found, err = mapper.ResourceFor(short.WithVersion(""))
	}
	if meta.IsNoMatchError(err) {
		return run.Target{}, fmt.Errorf("cannot watch %s: the cluster has no kind or resource %q", arg, kind)
	}
	if err != nil {
		return run.Target{}, fmt.Errorf("cannot watch %s: %w", arg, err)
	}
	gvk, err := mapper.KindFor(found)
	if err != nil {
		return run.Target{}, fmt.Errorf("cannot watch %s: %w", arg, err)
	}
	return run.Target{Resource: found.GroupResource(), Kind: gvk.GroupKind(), Name: name}, nil
}
