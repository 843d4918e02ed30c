// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/recording"
)

func newRecord(streams genericiooptions.IOStreams) *cobra.Command {
	f := newCommon(streams)
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "record FILE",
		Short: "Record observations of the cluster to a file, for lifeline replay",
		Long: `Record observations of the cluster to a file until Ctrl-C. A file name with the
ending .gz makes a compressed file. A recording holds no Secret or ConfigMap data, no
container arguments and no environment.`,
		Args: one("the file to write"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.connected()
			if err != nil {
				return err
			}
			return execute(cmd.Context(), &recording.Record{
				Options: o, File: args[0], Namespaces: f.namespaces(o), For: duration,
			})
		},
	}
	flags := cmd.Flags()
	f.addConfig(cmd)
	f.addEverywhere(flags)
	flags.DurationVar(&duration, "for", 0, "end after this time; without it, at Ctrl-C")
	return cmd
}

func newReplay(streams genericiooptions.IOStreams) *cobra.Command {
	f := newCommon(streams)
	var otlp string
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Print the traces in a recording",
		Args:  one("the file to read"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := f.options()
			if err != nil {
				return err
			}
			return execute(cmd.Context(), &recording.Replay{Options: o, File: args[0], OTLP: otlp})
		},
	}
	f.addOutput(cmd.Flags())
	cmd.Flags().StringVar(&otlp, "otlp", "", otlpUsage)
	f.completeOutput(cmd)
	return cmd
}
