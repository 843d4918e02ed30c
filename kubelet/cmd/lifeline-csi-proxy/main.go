// SPDX-License-Identifier: Apache-2.0

// Command lifeline-csi-proxy stands between a kubelet and a CSI driver. It forwards each call, and
// sends a span of each mount and unmount.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/kube-lifeline/lifeline/kubelet/csi"
	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lifeline-csi-proxy:", err)
		os.Exit(1)
	}
}

// run forwards calls until ctx ends. It writes to log what is wrong with the spans: that stops no mount.
func run(ctx context.Context, args []string, log io.Writer) (err error) {
	flags := flag.NewFlagSet("lifeline-csi-proxy", flag.ExitOnError)
	listen := flags.String("listen", "", "the Unix socket for the kubelet; the driver is registered with this path")
	driver := flags.String("driver", "", "the Unix socket of the driver")
	_ = flags.Parse(args)
	if *listen == "" || *driver == "" || flags.NArg() > 0 {
		return errors.New("set --listen and --driver to the paths of two Unix sockets")
	}
	provider, end := tracing.Start(ctx, csi.ServiceName, os.Getenv("NODE_NAME"), log)
	defer end()
	proxy, err := csi.New(path(*driver), provider)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proxy.Close()) }()
	return proxy.Serve(ctx, path(*listen))
}

// path returns the path of an address such as unix:///csi/csi.sock.
func path(address string) string {
	return strings.TrimPrefix(strings.TrimPrefix(address, "unix:"), "//")
}
