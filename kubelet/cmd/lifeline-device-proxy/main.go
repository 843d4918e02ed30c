// SPDX-License-Identifier: Apache-2.0

// Command lifeline-device-proxy stands between a kubelet and its device plugins. It forwards each call, and
// sends a span of each allocation of devices.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/kube-lifeline/lifeline/kubelet/deviceplugin"
	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lifeline-device-proxy:", err)
		os.Exit(1)
	}
}

// run forwards calls until ctx ends. It writes to log what is wrong with the spans: that stops no allocation.
func run(ctx context.Context, args []string, log io.Writer) error {
	flags := flag.NewFlagSet("lifeline-device-proxy", flag.ExitOnError)
	kubelet := flags.String("kubelet", plugin.DevicePluginPath, "the kubelet's directory of device plugins")
	plugins := flags.String("plugins", "", "the directory that the plugins have in its place")
	_ = flags.Parse(args)
	if *plugins == "" || flags.NArg() > 0 {
		return errors.New("set --plugins to the directory that the device plugins have as " + plugin.DevicePluginPath)
	}
	if filepath.Clean(*plugins) == filepath.Clean(*kubelet) {
		return fmt.Errorf("--plugins and --kubelet are both %s: give the plugins a directory of their own", *plugins)
	}
	if err := os.MkdirAll(*plugins, 0o750); err != nil {
		return fmt.Errorf("cannot make the directory of --plugins: %w", err)
	}
	provider, end := tracing.Start(ctx, deviceplugin.ServiceName, os.Getenv("NODE_NAME"), log)
	defer end()
	proxy := &deviceplugin.Proxy{
		Kubelet: *kubelet, Plugins: *plugins, Provider: provider, Log: func(err error) { fmt.Fprintln(log, err) },
	}
	return proxy.Serve(ctx)
}
