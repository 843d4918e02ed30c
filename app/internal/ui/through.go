// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/page"
)

// idle bounds the time of a browser's connection between two requests.
const idle = time.Minute

// handOn serves the page on loopback until a signal. The page's requests go through the API server, with the rights of
// the user: every program of this machine that can open the port has them for the API of the server, and for it only.
func (u *UI) handOn(ctx context.Context, to *client.Client) error {
	ctx, release := cli.UntilInterrupt(ctx, u.Signals)
	defer release()
	context.AfterFunc(ctx, release) // the second Ctrl-C ends the process at once
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", u.Port))
	if err != nil {
		return fmt.Errorf("cannot serve the page: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", to.Handler())
	mux.Handle("/", page.Handler())
	served := make(chan error, 1)
	serving, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		served <- httpserve.HTTP{
			Doing: "serve the page", Handler: httpserve.GuardHost(mux, api.Reject), Idle: idle,
			ErrorLog: log.New(io.Discard, "", 0),
		}.Serve(serving, ln)
	}()
	u.Say("the page of the server in the cluster, through the API server of context %s; Ctrl-C ends it",
		cli.Shown(u.Kubeconfig.Context()))
	if err := u.show(ctx, "http://"+ln.Addr().String()); err != nil {
		stop()
		return errors.Join(err, <-served)
	}
	return <-served
}
