// SPDX-License-Identifier: Apache-2.0

// Package ui opens the page of a `lifeline serve` in a browser: that of a server with a name, of the
// server on this machine, of one in the cluster, through the API server or a port-forward, or of one in this process.
package ui

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

// Namespace is that of the server in the manifests of this project.
const Namespace = "lifeline"

// UI opens the page: `lifeline ui`.
type UI struct {
	cli.Options

	Server cli.Server
	// Namespaces are those in which a server's Pod may be, in the order of the search.
	Namespaces []string
	// Here ignores a server in the cluster.
	Here bool
	// Watched is the namespace that a server in this process watches; empty means all.
	Watched string
	// Serve runs a server in this process until ctx ends. Without one, there is none to start.
	Serve func(ctx context.Context, o Own) error
	// Verbose prints the log of a server in this process.
	Verbose bool
	// Port is the local port to a server in the cluster, or of a server in this process; 0 means a free one, for
	// the server DefaultPort if that is free.
	Port uint16
	// RemotePort is the port of the API in a Pod; 0 means DefaultPort.
	RemotePort uint16
	// NoBrowser prints the URL only.
	NoBrowser bool
	// Browse opens a URL; nil means the browser of the system.
	Browse func(ctx context.Context, url string) error
	// Signals end the way to a server in the cluster, or a server in this process; nil means those of the process.
	Signals <-chan os.Signal
}

// Validate returns an error for invalid options. It sends no request.
func (u *UI) Validate() error {
	if u.Server.Named && (u.Server.URL == "" || u.Server.URL == cli.NoServer) {
		return errors.New("the page is that of a server: --server must name one")
	}
	return nil
}

// Run opens the page. With a server in the cluster, or with one in this process, it returns after a signal.
func (u *UI) Run(ctx context.Context) (int, error) {
	url, through, err := u.address(ctx)
	switch {
	case err != nil:
		return cli.CodeError, err
	case through != nil:
		defer through.Close()
		return code(u.handOn(ctx, through))
	case url != "":
		return code(u.show(ctx, url))
	case u.Kubeconfig == nil:
		return cli.CodeError, errors.New("there is no server on this machine, and no kubeconfig for a cluster: set " +
			"KUBECONFIG, or name a server with --server")
	}
	ctx, release := cli.UntilInterrupt(ctx, u.Signals)
	defer release()
	context.AfterFunc(ctx, release) // the second Ctrl-C ends the process at once
	api, err := u.pods()
	if err != nil {
		return cli.CodeError, err
	}
	switch namespace, err := u.search(ctx, api); {
	case ctx.Err() != nil:
		return cli.CodeOK, nil
	case err != nil:
		return cli.CodeError, err
	case namespace != "" && !u.Here:
		return code(u.forward(ctx, api, namespace))
	}
	return code(u.own(ctx))
}

func code(err error) (int, error) {
	if err != nil {
		return cli.CodeError, err
	}
	return cli.CodeOK, nil
}

// address returns the URL of the server that a flag or the environment names, or of the one on this
// machine; empty if there is none. Then through is the server in the cluster; nil if there is none, either. A named
// server may refuse questions without a token: the page asks for it.
func (u *UI) address(ctx context.Context) (url string, through *client.Client, err error) {
	if u.Server.Named || u.Env(cli.EnvServer) != "" {
		c, err := u.Client(u.Server)
		if c == nil || err != nil {
			return "", nil, err
		}
		defer c.Close()
		u.SayIfAway(ctx, c) // the browser may have another way to it, so this is no error
		return c.Server(), nil, nil
	}
	o, server := u.Options, u.Server
	o.Everywhere, server.Outside = true, server.Outside || u.Here
	found, err := o.Connect(ctx, server)
	switch {
	case found == nil || err != nil:
		return "", nil, err
	case found.Through():
		return "", found.Client, nil
	}
	defer found.Close()
	return found.Server(), nil, nil
}

// show prints the URL and opens it, if somebody looks at a screen.
func (u *UI) show(ctx context.Context, url string) error {
	if _, err := fmt.Fprintln(u.Streams.Out, cli.Shown(url)); err != nil {
		return err
	}
	if u.NoBrowser {
		return nil
	}
	browse := u.Browse
	if browse == nil {
		if !cli.NewScreen(u.Streams.Out, u.Environment()).Terminal {
			return nil
		}
		browse = u.browser()
	}
	if browse == nil {
		u.Say("there is no browser here: open the address in one")
	} else if err := browse(ctx, url); err != nil {
		u.Say("cannot start a browser: %s", cli.OneLine(err))
	}
	return nil
}
