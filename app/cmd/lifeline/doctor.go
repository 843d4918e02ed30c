// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/doctor"
)

// doctorFlags are the flags of lifeline doctor.
type doctorFlags struct {
	*common
	serverFlags
	doctor doctor.Command
}

func newDoctor(streams genericiooptions.IOStreams) *cobra.Command {
	f := &doctorFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what traces lack in this cluster, and what to add",
		Long: `Say what this cluster and its server give to traces: the audit log, the spans of
kube-apiserver, etcd, kubelet and containerd and how many of them come, rights,
versions and clocks; what traces lack because of it; and the lines to add. It only
reads. Counts are the server's, of its last 15 minutes.

` + serverHelp + `

Exit codes: 0 if all is well, or there is only advice; 3 if something is missing
that was asked for: spans or audit events that a server waits for, or a right; 1
if it cannot be found out.`,
		Example: `  lifeline doctor
  lifeline doctor -o json | jq '.checks[] | select(.status == "missing")'
  lifeline doctor --bundle report.tar.gz --server http://lifeline.example:7070`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.complete(cmd)
			if err != nil {
				return err
			}
			return execute(cmd.Context(), c)
		},
	}
	flags := cmd.Flags()
	f.serverFlags.add(cmd, f.common)
	f.addConfig(cmd)
	flags.StringVarP(&f.doctor.Output, "output", "o", doctor.OutputText,
		"how to print: "+strings.Join(doctor.Outputs(), ", "))
	flags.StringVar(&f.doctor.Bundle, "bundle", "",
		"write all that was found to this file, too (tar.gz); it holds no Secret, token, certificate or name of a user")
	flags.StringVar(&f.doctor.Telemetry, "telemetry", "",
		"URL of the server's metrics for the bundle, such as http://127.0.0.1:7071; where the server says if it is "+
			"not given")
	flags.BoolVar(&f.doctor.Names, "names", false, "tell your user's name as it is, not as a hash")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(doctor.Outputs(), cobra.ShellCompDirectiveNoFileComp)))
	return cmd
}

func (f *doctorFlags) complete(cmd *cobra.Command) (*doctor.Command, error) {
	c := f.doctor
	if err := c.Validate(); err != nil {
		return nil, err
	}
	o, err := f.maybeConnected()
	if err != nil {
		return nil, err
	}
	c.Out, c.Log, c.Version = f.streams.Out, f.streams.ErrOut, o.Version
	if o.Kubeconfig != nil {
		c.REST = o.Kubeconfig.Current()
	}
	choice := f.choice(cmd)
	c.Server = func(ctx context.Context) (*client.Client, error) { return o.FindServer(ctx, choice) }
	return &c, nil
}
