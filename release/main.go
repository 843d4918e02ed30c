// SPDX-License-Identifier: Apache-2.0

// Command release packs what GoReleaser has built into one folder: archives, packages and manifests, images and the
// Helm chart as OCI layouts, install.sh, and the checksums of all files. Equal input gives equal files. release.sh
// calls it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var o options
	var created int64
	flags := flag.NewFlagSet("release", flag.ExitOnError)
	flags.StringVar(&o.built, "built", "", "the folder of GoReleaser, with artifacts.json")
	flags.StringVar(&o.dist, "dist", "", "the folder for the files of the release")
	flags.StringVar(&o.version, "version", "", "the version, as v0.1.0")
	flags.StringVar(&o.revision, "revision", "", "the commit")
	flags.StringVar(&o.url, "url", "", "the address of the files of the release")
	flags.StringVar(&o.registry, "registry", "", "the place of the images, such as ghcr.io/kube-lifeline")
	flags.StringVar(&o.source, "source", ".", "the folder with LICENSE and release/install.sh")
	flags.StringVar(&o.chart, "chart", "", "the packed Helm chart; empty for none")
	flags.Int64Var(&created, "created", 0, "the time of the commit, in seconds since 1970: the time of all files")
	_ = flags.Parse(args)
	if o.built == "" || o.dist == "" || o.version == "" || o.url == "" || o.registry == "" || flags.NArg() > 0 {
		return errors.New("set -built, -dist, -version, -url and -registry")
	}
	o.created = time.Unix(created, 0).UTC()
	return pack(o)
}
