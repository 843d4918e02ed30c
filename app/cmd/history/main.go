// SPDX-License-Identifier: Apache-2.0

// Command history shows a month of synthetic changes on the page, for `make demo-history`. It writes them into an
// archive in a temporary folder, and serves the API and the page over that archive alone. It watches no cluster and
// prunes nothing.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/page"
	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/replay"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
)

func main() {
	address := flag.String("address", "127.0.0.1:7070", "host:port of the page and the API")
	recording := flag.String("recording", "", "file with a recording whose changes are on the page, too")
	seed := flag.Uint64("seed", 1, "seed of the random values")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := show(ctx, *address, *recording, month{Seed: *seed, End: time.Now().UTC().Truncate(time.Minute)})
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "history: %v\n", err)
		os.Exit(1)
	}
}

// show serves the month until ctx ends.
func show(ctx context.Context, address, recording string, m month) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("%w; to choose another address: make demo-history DEMO_API=127.0.0.1:7080", err)
	}
	defer listener.Close() // Serve closes it, too
	dir, err := os.MkdirTemp("", "lifeline-history-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	archive, err := sqlite.Open(ctx, store.Config{Path: filepath.Join(dir, "lifeline.db")})
	if err != nil {
		return err
	}
	defer archive.Close()
	traces := m.traces()
	synthetic := len(traces)
	recorded, err := recordedTraces(ctx, recording)
	if err != nil {
		return err
	}
	traces = append(recorded, traces...)
	if err := write(ctx, archive, traces); err != nil {
		return err
	}
	handler, err := serving(archive, m.End, time.Now)
	if err != nil {
		return err
	}
	at := listener.Addr()
	fmt.Printf("A synthetic month, %d changes from %s to %s, in a temporary archive:\n", synthetic,
		m.start().Format(time.DateOnly), m.End.Format(time.DateOnly))
	fmt.Printf("  http://%s/changes?range=30d\n", at)
	fmt.Printf("  LIFELINE_SERVER=http://%s lifeline ls -A --since 30d\n", at)
	for _, t := range recorded {
		fmt.Printf("A recorded change:\n  http://%s/trace/%s\n", at, t.ID)
	}
	fmt.Println("Ctrl-C ends it and removes the archive.")
	return httpserve.Serve(ctx, listener, handler)
}

// recordedTraces returns the traces in a recording; none without a file.
func recordedTraces(ctx context.Context, path string) ([]*span.Trace, error) {
	if path == "" {
		return nil, nil
	}
	file, err := observation.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	result, err := replay.Traces(ctx, file.Reader)
	return result.Traces, err
}

// batch bounds the traces of one write.
const batch = 100

// write stores the traces.
func write(ctx context.Context, archive store.Writer, traces []*span.Trace) error {
	var asOf time.Time
	for from := 0; from < len(traces); from += batch {
		part := traces[from:min(from+batch, len(traces))]
		for _, t := range part {
			if end := t.Root().End.Time; end.After(asOf) {
				asOf = end
			}
		}
		b := &store.Batch{Revision: int64(from/batch) + 1, AsOf: asOf, Finished: part}
		if err := archive.Write(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// handler is the API and the page.
type handler struct {
	*http.ServeMux
	api *api.Server
}

// Close ends the streams.
func (h handler) Close() error { return h.api.Close() }

// serving returns the API over an archive, and the page. Nothing is broken at the end of the archive.
func serving(archive store.Archive, asOf time.Time, clock func() time.Time) (handler, error) {
	access := store.NewGate(archive, store.Whole).For(store.Scope{})
	var problems api.ProblemHub
	problems.Publish(problem.NewTracker(cluster).Snapshot(asOf))
	answers, err := api.New(api.Options{
		Access:   func(*http.Request) (store.Access, error) { return access, nil },
		Cluster:  cluster,
		Problems: &problems,
		Clock:    clock,
		Info:     func() api.Info { return api.Info{Version: "demo", Cluster: cluster, AsOf: asOf} },
	})
	if err != nil {
		return handler{}, err
	}
	mux := http.NewServeMux()
	mux.Handle("/api/", answers)
	mux.Handle("/", httpserve.GuardHost(page.Handler(), func(w http.ResponseWriter, code int, message string) {
		http.Error(w, message, code)
	}))
	return handler{mux, answers}, nil
}
