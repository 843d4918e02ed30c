// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"

	units "github.com/docker/go-units"
	"github.com/spf13/cobra"

	"github.com/kube-lifeline/lifeline/lab"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// inspect describes the cluster.
func (p *place) inspect() (lab.Info, error) {
	dir, err := p.path()
	if err != nil {
		return lab.Info{}, err
	}
	return lab.Inspect(dir)
}

func imageCommand(out io.Writer) *cobra.Command {
	var (
		where   place
		padding string
		spec    testimage.Spec
	)
	cmd := &cobra.Command{
		Use:   "image NAME:TAG",
		Short: "Put a test image into the registry of a cluster with real nodes, and print its reference",
		Example: "  lab image app:slow --padding 32Mi && lab bandwidth 4Mi\n  lab image lifeline:dev --program " +
			"bin/lifeline",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := where.inspect()
			if err != nil {
				return err
			}
			if spec.Program != "" && !cmd.Flags().Changed("env") {
				spec.Env = nil
			}
			if spec.Padding, err = parseBytes(padding); err != nil {
				return err
			}
			reference, err := info.PushImage(cmd.Context(), args[0], spec)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, reference)
			return nil
		},
	}
	where.flags(cmd)
	cmd.Flags().StringVar(&spec.Program, "program", "",
		"static binary to put into the image instead of the test program")
	cmd.Flags().StringVar(&padding, "padding", "0", "random bytes in the image, such as 8Mi")
	cmd.Flags().Uint64Var(&spec.Seed, "seed", 0, "selects these bytes: a node pulls the same ones only once")
	cmd.Flags().StringArrayVar(&spec.Env, "env", []string{"PORT=" + testimage.DefaultPort},
		"environment of the image, NAME=value; may be repeated")
	return cmd
}

func bandwidthCommand() *cobra.Command {
	var where place
	cmd := &cobra.Command{
		Use:     "bandwidth BYTES",
		Short:   "Limit how many bytes a second all pulls of real nodes get together; 0 lifts the limit",
		Example: "  lab bandwidth 4Mi",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			info, err := where.inspect()
			if err != nil {
				return err
			}
			limit, err := parseBytes(args[0])
			if err != nil {
				return err
			}
			return info.SetPullBandwidth(cmd.Context(), limit)
		},
	}
	where.flags(cmd)
	return cmd
}

// parseBytes reads a number of bytes as Kubernetes writes it: 4096, 8Mi, 1Gi.
func parseBytes(text string) (int64, error) {
	n, err := units.RAMInBytes(strings.TrimSuffix(text, "B") + "B")
	if err != nil {
		return 0, fmt.Errorf("%q is no number of bytes such as 8Mi", text)
	}
	return n, nil
}
