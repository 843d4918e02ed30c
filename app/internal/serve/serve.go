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
// The server consists of parts with a Start and a Stop. Their constructors get what the parts may use;
// compose starts them in order, and stops them in reverse order.
//
// While the journal cannot be written, the loop takes in nothing: the watches wait, and continue
// afterwards. A failing archive or backend does not delay the loop, nor answers from memory.
package serve

import "context"

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
