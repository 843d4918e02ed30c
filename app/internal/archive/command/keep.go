// SPDX-License-Identifier: Apache-2.0

package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// Backup copies the whole archive: `lifeline archive backup`.
type Backup struct {
	Options
	// File is the new file; "-" means stdout.
	File string
}

// Run writes the copy.
func (b *Backup) Run(ctx context.Context) (code int, err error) {
	if b.File == "-" && terminal(b.Streams.Out) {
		return cli.CodeError, errors.New("the copy is not text: redirect stdout to a file, or name a file")
	}
	return b.operate(ctx, "back up the archive", func(ctx context.Context, ops maintenance.Operations) error {
		if b.File == "-" {
			out, err := ops.Copy(ctx, b.Streams.Out)
			b.sayMissing(out)
			return err
		}
		path, err := filepath.Abs(b.File)
		if err != nil {
			return err
		}
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists: choose a new name", path)
		}
		out, err := ops.Backup(ctx, path)
		switch {
		case errors.Is(err, fs.ErrExist):
			return fmt.Errorf("%w: choose a new name", err)
		case errors.Is(err, store.ErrReadOnly): // the advice for an archive would mislead
			return fmt.Errorf("%s: choose a directory that the user of the server may write to", err.Error())
		case err != nil:
			return err
		}
		b.sayMissing(out)
		size := ""
		if info, err := os.Stat(path); err == nil {
			size = fmt.Sprintf(" (%.1f MiB)", float64(info.Size())/(1<<20))
		}
		b.say("copied the archive of cluster %s to %s%s", ops.Cluster(), path, size)
		return nil
	})
}

// terminal reports whether a stream is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Forget removes the traces of a namespace: `lifeline archive forget`.
type Forget struct {
	Options
	Namespace string
	// Yes answers the confirmation.
	Yes bool
}

// notCovered is what Forget leaves.
const notCovered = "Open traces, what happens in the namespace from now on, exports, backups and the OTLP backend " +
	"are not covered."

// Run asks for a confirmation, and removes the traces.
func (f *Forget) Run(ctx context.Context) (code int, err error) {
	return f.operate(ctx, "forget namespace "+f.Namespace, func(ctx context.Context, ops maintenance.Operations) error {
		if err := f.confirm(ops.Cluster()); err != nil {
			return err
		}
		out, err := ops.Forget(ctx, f.Namespace)
		if err != nil && out.Traces == 0 {
			return err
		}
		text := "removed " + traces(out.Traces)
		if out.Shared > 0 {
			text += fmt.Sprintf(", %d of which also touched other namespaces", out.Shared)
		}
		if out.Edges > 0 {
			text += fmt.Sprintf("; %d links of other traces to them", out.Edges)
		}
		if out.Rollups > 0 {
			text += fmt.Sprintf("; %d rollups of traces that were removed before", out.Rollups)
		}
		if out.Unsent > 0 {
			text += fmt.Sprintf("; %d of them, or parts of them, will not be sent to the OTLP backend", out.Unsent)
		}
		if _, printed := fmt.Fprintln(f.Streams.Out, text); printed != nil {
			return errors.Join(err, printed)
		}
		if err != nil {
			return fmt.Errorf("not all were removed, and a repetition continues: %w", err)
		}
		if f.Yes { // else the question had it
			f.say("%s", notCovered)
		}
		return nil
	})
}

// confirm asks the user on the terminal.
func (f *Forget) confirm(cluster string) error {
	if f.Yes {
		return nil
	}
	if !terminal(f.Streams.In) {
		return errors.New("this needs a confirmation: add --yes")
	}
	_, _ = fmt.Fprintf(
		f.Streams.ErrOut,
		"This removes every trace that touches namespace %s from the archive of cluster %s, "+
			"as a whole, also if it is pinned.\n%s\nType the namespace to confirm: ",
		f.Namespace,
		cluster,
		notCovered,
	)
	text, err := bufio.NewReader(f.Streams.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if strings.TrimSpace(text) != f.Namespace {
		return errors.New("not confirmed; nothing was removed")
	}
	return nil
}

// Pin exempts a trace from retention: `lifeline archive pin` and `unpin`.
type Pin struct {
	Options
	// Trace is the ID, or its beginning.
	Trace string
	// Off ends the exemption.
	Off bool
}

// Run pins the trace.
func (p *Pin) Run(ctx context.Context) (code int, err error) {
	done, already := "pinned", "was pinned already"
	if p.Off {
		done, already = "unpinned", "was not pinned"
	}
	return p.operate(
		ctx,
		strings.TrimSuffix(done, "ned")+" "+p.Trace,
		func(ctx context.Context, ops maintenance.Operations) error {
			out, err := ops.Pin(ctx, p.Trace, !p.Off)
			if err != nil {
				return err
			}
			text := done + " " + out.TraceID
			if out.Before != p.Off {
				text = out.TraceID + " " + already
			}
			_, err = fmt.Fprintf(p.Streams.Out, "%s: %s\n", text, cli.Shown(out.What))
			return err
		},
	)
}
