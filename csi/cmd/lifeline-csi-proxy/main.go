// SPDX-License-Identifier: Apache-2.0

// Command lifeline-csi-proxy stands between a kubelet and a CSI driver. It forwards each call, and
// sends a span of each mount and unmount.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/kube-lifeline/lifeline/csi"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "lifeline-csi-proxy:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	listen := flag.String("listen", "", "the Unix socket for the kubelet; the driver is registered with this path")
	driver := flag.String("driver", "", "the Unix socket of the driver")
	flag.Parse()
	if *listen == "" || *driver == "" || flag.NArg() > 0 {
		return errors.New("set --listen and --driver to the paths of two Unix sockets")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	provider, err := csi.ProviderFromEnvironment(ctx, os.Getenv("NODE_NAME"))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err = errors.Join(err, provider.Shutdown(ctx))
	}()
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
