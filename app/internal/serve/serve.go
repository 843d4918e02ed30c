// SPDX-License-Identifier: Apache-2.0

// Package serve is `lifeline serve`. It passes the observations of a cluster to the engine, and the
// engine's traces to the archive and, as OTLP, to a backend. It resumes after restarts.
//
//	watch ─▶ loop: engine ─▶ journal (one commit a look) ─▶ view ─▶ API
//	                           └─▶ pending log ─▶ archive
//	                                         └──▶ outbox ─▶ backend
//
// One goroutine, the loop, owns the recorder, and the recorder owns the engine. Twice a second it
// looks at the engine and commits all results to the journal: the finished traces, as entries of the
// pending log, and the state to continue from, that is the position of each watch and the
// observations since the last look. So the journal always describes one moment, also after a kill.
// The next process restores the engine from it and resumes each watch at its position. Nothing is
// lost, repeated or invented.
//
// While the journal cannot be written, the loop takes in nothing: the watches wait, and continue
// afterwards. A trouble of the archive or the backend delays neither the loop nor readers of what is
// in memory.
package serve

import (
	"context"
	"io"
	"log/slog"
	"os"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// Options configure a server.
type Options struct {
	// Config is the complete and valid configuration. File is its file, which is read again when it
	// changes; empty without a file.
	Config *config.ServerConfiguration
	File   string
	// Overrides are the overrides of the file.
	Overrides []config.Override
	// Connect returns the connection to the cluster. It reads it again at each call, since
	// credentials on disk may be renewed.
	Connect func() (*rest.Config, error)
	// Namespace is the context's namespace, the default for Leases.
	Namespace string
	// Version is the version of this build.
	Version string
	// Log receives the log lines; nil means os.Stderr.
	Log io.Writer
	// Reload signals that the configuration should be read again; may be nil.
	Reload <-chan os.Signal
}

// Run serves until ctx ends, and then stops in order. It stores the observations, sends stored
// spans for a limited time, and leaves the rest on disk for the next start. An error means that it
// could not start or continue.
func Run(ctx context.Context, o Options) error {
	s, err := newServer(o)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// errAttr returns the log attribute of an error.
func errAttr(err error) slog.Attr { return slog.String("error", err.Error()) }
