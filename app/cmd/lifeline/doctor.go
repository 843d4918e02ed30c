// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/doctor"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// doctorFlags are the flags of lifeline doctor.
type doctorFlags struct {
	*common
	serverFlags
	doctor doctor.Command
	probe  string
}

func newDoctor(streams genericiooptions.IOStreams) *cobra.Command {
	f := &doctorFlags{common: newCommon(streams)}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Show which data the traces of this cluster lack, and how to add them",
		Long: `Show the data that this cluster and its server give to traces: the audit log, the
spans of kube-apiserver, etcd, kubelet and containerd with their share, rights,
versions and clocks. For missing data, show the effect on traces and the lines to
add. Counts are those of the server's last 15 minutes. The command only reads, except
with --probe-webhook: it then registers that webhook for a moment, for one object that
is never stored, and shows whether the API server reaches it.

` + serverHelp + `

Exit codes: 0 without problems, or with advice only; 3 if configured data or a right
is missing; 1 if the checks failed.`,
		Example: `  lifeline doctor
  lifeline doctor -o json | jq '.checks[] | select(.status == "missing")'
  lifeline doctor --probe-webhook lifeline/lifeline-webhook
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
		"output format: "+strings.Join(doctor.Outputs(), ", "))
	flags.StringVar(&f.doctor.Bundle, "bundle", "",
		"also write all results to this file (tar.gz), without Secrets, tokens, certificates and user names")
	flags.StringVar(&f.doctor.Telemetry, "telemetry", "",
		"URL of the server's metrics for the bundle, such as http://127.0.0.1:7071; by default that of its "+
			"configuration")
	flags.BoolVar(&f.doctor.Names, "names", false, "show your user name itself instead of a hash")
	flags.StringVar(&f.probe, "probe-webhook", "",
		"have the API server call the webhook at this Service (NAMESPACE/NAME[:PORT]) or URL, before it is installed")
	completeWords(cmd, doctor.Outputs(), "output")
	return cmd
}

func (f *doctorFlags) complete(cmd *cobra.Command) (*doctor.Command, error) {
	c := f.doctor
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if f.probe != "" {
		var err error
		if c.Probe, err = registration.Target(f.probe); err != nil {
			what := strings.NewReplacer("--service ", "", "--url ", "").Replace(err.Error())
			return nil, fmt.Errorf("--probe-webhook %s", what)
		}
	}
	o, err := f.maybeConnected()
	if err != nil {
		return nil, err
	}
	c.Out, c.Log, c.Version = f.streams.Out, f.streams.ErrOut, o.Version
	if o.Kubeconfig != nil {
		c.Namespace = o.Kubeconfig.Namespace()
		c.REST = o.Kubeconfig.Current()
	}
	choice := f.choice(cmd)
	c.Server = func(ctx context.Context) (*client.Client, error) { return o.FindServer(ctx, choice) }
	return &c, nil
}
