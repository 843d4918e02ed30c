// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Own describes a server in this process.
type Own struct {
	// Namespace is the watched one; empty means all.
	Namespace string
	// Address is that of the API. FreePort permits another port of the same host.
	Address  string
	FreePort bool
	// Opened gets the URL of the page once the API answers.
	Opened func(url string)
	// Log receives the log. Verbose selects text for a person, otherwise it has errors only, as JSON.
	Log     io.Writer
	Verbose bool
}

// inUsePatience bounds the wait for a server that another process starts at the same time.
const inUsePatience = 10 * time.Second

// own starts a server in this process, and shows its page and its state until ctx ends.
func (u *UI) own(ctx context.Context) error {
	what := "all namespaces"
	if u.Watched != "" {
		what = "namespace " + cli.Shown(u.Watched)
	}
	u.Say("no server for context %s: starting one, for %s; Ctrl-C ends it",
		cli.Shown(u.Kubeconfig.Context()), what)
	line := newStateLine(u.Streams.ErrOut, cli.NewScreen(u.Streams.ErrOut, u.Environment()))
	faults := &faults{line: line, say: u.Say}
	o := Own{
		Namespace: u.Watched, Address: fmt.Sprintf("127.0.0.1:%d", DefaultPort), FreePort: true,
		Log: faults, Verbose: u.Verbose,
	}
	if u.Port != 0 {
		o.Address, o.FreePort = fmt.Sprintf("127.0.0.1:%d", u.Port), false
	}
	if u.Verbose {
		o.Log = u.Streams.ErrOut
	}
	opened, ended := make(chan string, 1), make(chan error, 1)
	o.Opened = func(url string) { opened <- url }
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { ended <- u.Serve(ctx, o) }()
	select {
	case url := <-opened:
		faults.open()
		if u.Port == 0 && url != client.DefaultServer {
			u.Say("port %d is in use by another program: the page has another port", DefaultPort)
		}
		if err := u.show(ctx, url); err != nil {
			cancel()
			return errors.Join(err, <-ended)
		}
		if !u.Verbose {
			u.follow(ctx, url, what, line)
		}
		err := <-ended
		line.end()
		if err == nil {
			u.Say("all is stored; the next \"lifeline ui\" continues from here")
		}
		return err
	case err := <-ended:
		if errors.Is(err, store.ErrInUse) {
			return u.other(ctx, err)
		}
		faults.open()
		return err
	}
}

// other shows the page of a server that has started in another process since the search. why is the error of the
// server in this one.
func (u *UI) other(ctx context.Context, why error) error {
	deadline := u.Time().Add(inUsePatience)
	for ctx.Err() == nil && u.Time().Before(deadline) {
		url, _, err := u.address(ctx)
		if err != nil || url != "" {
			return errors.Join(err, u.show(ctx, url))
		}
		select {
		case <-time.After(again):
		case <-ctx.Done():
		}
	}
	return why
}

// follow shows the state of the server in this process until ctx ends.
func (u *UI) follow(ctx context.Context, url, what string, line *stateLine) {
	c, err := client.New(url, client.Access{})
	if err != nil {
		return // impossible for the URL of a listener
	}
	defer c.Close()
	tick := time.NewTicker(stateEvery)
	defer tick.Stop()
	for {
		info, err := c.Info(ctx)
		if err == nil {
			if sources, err := c.Sources(ctx); err == nil {
				line.show(stateOf(info, &sources.Watch, what))
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}
