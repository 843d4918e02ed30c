// SPDX-License-Identifier: Apache-2.0

// Package command is `lifeline archive` and `lifeline sql`: it finds the archive of a cluster, and
// carries out one operation of package maintenance, or a SELECT, with the user's files and streams.
// Data goes to stdout or a file, messages to stderr.
package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// sayEvery is the interval of progress messages.
const sayEvery = 5 * time.Second

// Options are common to the commands.
type Options struct {
	Streams genericiooptions.IOStreams
	// DataDir is the data directory; empty means the default of `lifeline serve`.
	DataDir string
	// ClusterUID selects the cluster, by its UID or the beginning of it; empty means the only one.
	ClusterUID string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

func (o *Options) say(format string, args ...any) {
	_, _ = fmt.Fprintf(o.Streams.ErrOut, "lifeline: "+format+"\n", args...)
}

func (o *Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

// operate runs do with the operations on the selected archive, until it ends or the user interrupts
// it.
func (o *Options) operate(
	ctx context.Context, doing string, do func(context.Context, maintenance.Operations) error,
) (code int, err error) {
	return o.interruptible(ctx, doing, func(ctx context.Context) error {
		dir, err := o.cluster()
		if err != nil {
			return err
		}
		return o.connected(ctx, dir, false, do)
	})
}

// interruptible runs do until it ends or the user interrupts it.
func (o *Options) interruptible(
	ctx context.Context, doing string, do func(context.Context) error,
) (code int, err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	err = do(ctx)
	switch {
	case err == nil:
		return cli.CodeOK, nil
	case ctx.Err() != nil:
		return cli.CodeInterrupted, fmt.Errorf("cannot %s: interrupted", doing)
	}
	return cli.CodeError, fmt.Errorf("cannot %s: %w%s", doing, err, advice(err))
}

// connected runs do with the operations on the archive in the directory of a cluster.
func (o *Options) connected(
	ctx context.Context, dir string, create bool, do func(context.Context, maintenance.Operations) error,
) (err error) {
	ops, err := maintenance.Connect(ctx, dir, create)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ops.Close()) }()
	if l, ok := ops.(*maintenance.Local); ok {
		switch l.Difference {
		case journal.OtherArchive:
			o.say("the archive is not that of the journal beside it: traces that were archived before are missing")
		case journal.OlderArchive:
			o.say("the archive is older than the journal beside it: the latest archived traces are missing")
		case journal.OlderJournal:
			o.say("the journal is older than the archive beside it; it continues after the archive")
		}
	}
	return do(ctx, ops)
}

// advice returns the next step after an error; empty if the error has it.
func advice(err error) string {
	switch {
	case errors.Is(err, store.ErrFull), errors.Is(err, syscall.ENOSPC):
		return ": make room on the disk, and try again"
	case errors.Is(err, store.ErrReadOnly):
		return ": run the command as the user of the server, on a writable data directory"
	case errors.Is(err, store.ErrUnavailable):
		return ": try again in a moment, or see the server's log"
	case errors.Is(err, store.ErrForeign):
		return ": move the file away; lifeline serve creates a new one"
	case errors.Is(err, store.ErrNewer):
		return ": use that version, or export with it first (docs/upgrade.md)"
	}
	return ""
}

// dataDir returns the data directory.
func (o *Options) dataDir() (string, error) {
	if o.DataDir != "" {
		return o.DataDir, nil
	}
	return datadir.Default()
}

// cluster returns the directory of the selected cluster.
func (o *Options) cluster() (string, error) {
	dataDir, err := o.dataDir()
	if err != nil {
		return "", err
	}
	known, err := datadir.Clusters(dataDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no data directory %s: name that of \"lifeline serve\" with --data-dir", dataDir)
	case err != nil:
		return "", err
	case len(known) == 0:
		return "", fmt.Errorf("%w of a cluster in %s: name the data directory of \"lifeline serve\" with --data-dir",
			maintenance.ErrNoArchive, dataDir)
	case o.ClusterUID == "" && len(known) > 1:
		return "", fmt.Errorf("%s has the archives of %d clusters: choose one with --cluster: %s",
			dataDir, len(known), strings.Join(known, ", "))
	case o.ClusterUID == "":
		return datadir.Cluster(dataDir, known[0]), nil
	}
	found := slices.DeleteFunc(slices.Clone(known), func(uid string) bool {
		return !strings.HasPrefix(uid, o.ClusterUID)
	})
	if len(found) != 1 {
		return "", fmt.Errorf("--cluster %s: it must be one of the clusters in %s: %s",
			o.ClusterUID, dataDir, strings.Join(known, ", "))
	}
	return datadir.Cluster(dataDir, found[0]), nil
}

// Clusters returns the clusters in the data directory, for completion.
func (o *Options) Clusters() []string {
	dataDir, err := o.dataDir()
	if err != nil {
		return nil
	}
	known, err := datadir.Clusters(dataDir)
	if err != nil {
		return nil
	}
	return known
}

// traces returns a number with its noun.
func traces(n int64) string {
	if n == 1 {
		return "1 trace"
	}
	return fmt.Sprintf("%d traces", n)
}

// sayMissing warns about traces that are not in the result.
func (o *Options) sayMissing(out maintenance.Exported) {
	if out.Missing > 0 {
		o.say("%d finished traces are not in it: they wait for the archive; see the server's log", out.Missing)
	}
}
