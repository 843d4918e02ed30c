// SPDX-License-Identifier: Apache-2.0

// Package serve is `lifeline serve`: what is watched of a cluster goes into the
// engine, and what the engine makes of it into the store and, as OTLP, to a
// backend, all the time and through restarts.
//
//	watch ─▶ loop: engine ─▶ ledger (one batch a look) ─▶ API, streams
//	                              └─▶ outbox ─▶ backend
//
// One goroutine, the loop, owns the recorder, and the recorder the engine. Twice
// a second it looks at what the engine has made of what was seen, and stores all
// of it as one batch: the traces, what is to be sent, how far each watch has come
// and what was seen since the last batch (the journal). So whenever the process
// is killed, the next one finds everything at one moment: it restores the engine
// from the journal, and lets each watch go on from where it was then. Nothing is
// lost, nothing repeated and nothing invented.
//
// While the store cannot be written to, the loop takes in nothing: the watches
// wait, and go on afterwards.
package serve

import (
	"context"
	"io"
	"log/slog"
	"os"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// Options are what a server is started with.
type Options struct {
	// Config is the configuration, complete and valid. File is where it was
	// read from and is read again when it changes; empty if it is of no file.
	Config *config.ServerConfiguration
	File   string
	// Overrides are those that the file was loaded with.
	Overrides []config.Override
	// Connect reads the connection to the cluster, anew each time, since
	// credentials may be renewed on disk.
	Connect func() (*rest.Config, error)
	// Namespace is that of the context, for Leases where the configuration
	// names none.
	Namespace string
	// Version names this build.
	Version string
	// Log takes the log lines; os.Stderr if nil.
	Log io.Writer
	// Reload is signalled when the configuration shall be read again; may be
	// nil.
	Reload <-chan os.Signal
}

// Run serves until ctx ends, and then stops in order: what was seen is stored,
// what is stored is sent as far as time allows, and the rest waits on disk for
// the next start. An error means that it could not start, or not go on.
func Run(ctx context.Context, o Options) error {
	s, err := newServer(o)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// errAttr is how an error stands in a log line.
func errAttr(err error) slog.Attr { return slog.String("error", err.Error()) }
