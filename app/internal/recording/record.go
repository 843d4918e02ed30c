// SPDX-License-Identifier: Apache-2.0

// Package recording writes and prints recordings: `lifeline record` and `lifeline replay`.
package recording

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/pipeline"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// sayEvery is the interval of progress messages of a recording.
const sayEvery = 10 * time.Second

// Record writes the observations of a cluster to a file: `lifeline record FILE`.
type Record struct {
	cli.Options
	File       string
	Namespaces []string
	For        time.Duration
	Signals    <-chan os.Signal
}

// Run records until an interrupt or until For has passed. Both are a normal end.
func (r *Record) Run(ctx context.Context) (code int, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signals, release := cli.Interrupts(r.Signals)
	defer release()
	p, watcher, err := pipeline.Watching(ctx, r.Options, pipeline.Outputs{Files: true})
	if err != nil {
		return cli.CodeError, err
	}
	defer func() { err = errors.Join(err, pipeline.End(p, watcher)) }()
	file, err := observation.Create(r.File, observation.Header{Cluster: p.Cluster, Started: r.Time()})
	if err != nil {
		return cli.CodeError, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := watcher.Watch(ctx, watch.Scope{Namespaces: r.Namespaces}); err != nil {
		return cli.CodeError, err
	}
	listed, stop := pipeline.Synced(ctx, watcher)
	defer stop()
	n, err := r.write(p, file, listed, signals)
	if err != nil {
		return cli.CodeError, err
	}
	p.Say("recorded %d observations to %s", n, r.File)
	return cli.CodeOK, nil
}

func (r *Record) write(
	p *pipeline.Pipeline, file *observation.File, listed <-chan struct{}, signals <-chan os.Signal,
) (n int, err error) {
	enough, stop := pipeline.After(r.For)
	defer stop()
	ticker := time.NewTicker(sayEvery)
	defer ticker.Stop()
	for {
		select {
		case o := <-p.In:
			if err := file.Write(o); err != nil {
				return n, err
			}
			n++
		case <-listed:
			listed = nil
			p.Say("recording to %s; Ctrl-C ends it", r.File)
		case <-ticker.C:
			p.Say("%d observations so far", n)
			if err := file.Flush(); err != nil {
				return n, err
			}
		case <-enough:
			return r.rest(p, file, n)
		case <-signals:
			return r.rest(p, file, n)
		}
	}
}

// rest writes the observations still in the queue.
func (r *Record) rest(p *pipeline.Pipeline, file *observation.File, n int) (int, error) {
	for {
		select {
		case o := <-p.In:
			if err := file.Write(o); err != nil {
				return n, err
			}
			n++
		default:
			return n, nil
		}
	}
}
