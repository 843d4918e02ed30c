// SPDX-License-Identifier: Apache-2.0

package command

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/archive/maintenance"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// Export writes traces as JSON lines: `lifeline archive export`.
type Export struct {
	Options
	// File is the file to write; empty and "-" mean stdout. A name with the ending .gz makes a
	// compressed file.
	File string
	// Since and Until bound the start: RFC 3339, or a duration back from now.
	Since, Until string
	Namespace    string
}

// Run writes the traces. A reader that has gone, such as head, is not an error.
func (e *Export) Run(ctx context.Context) (code int, err error) {
	f := maintenance.Filter{Namespace: e.Namespace}
	if f.Since, err = e.moment("--since", e.Since); err != nil {
		return cli.CodeError, err
	}
	if f.Until, err = e.moment("--until", e.Until); err != nil {
		return cli.CodeError, err
	}
	signal.Ignore(syscall.SIGPIPE) // the archive is closed first
	defer signal.Reset(syscall.SIGPIPE)
	return e.operate(ctx, "export the archive", func(ctx context.Context, ops maintenance.Operations) error {
		out, err := e.openOutput()
		if err != nil {
			return err
		}
		defer out.discard()
		p := e.progress(out)
		done, err := ops.Export(ctx, f, p)
		if err == nil {
			err = out.finish()
		}
		if errors.Is(err, syscall.EPIPE) {
			return nil
		}
		if err != nil {
			return err
		}
		e.sayMissing(done)
		e.say("exported %s%s", traces(done.Traces), out.named())
		return nil
	})
}

// moment reads a time.
func (o *Options) moment(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := timestamp.ParseMoment(text, o.now())
	if err != nil {
		err = fmt.Errorf("%s %w", flag, err)
	}
	return at, err
}

// output is stdout or a file. A regular file gets its name when it is complete.
type output struct {
	io.Writer
	zip  *gzip.Writer
	file *os.File
	// path is the final name, and partial the one until then; empty for a device or a pipe.
	path, partial string
}

func (e *Export) openOutput() (*output, error) {
	if e.File == "" || e.File == "-" {
		return &output{Writer: e.Streams.Out}, nil
	}
	out := &output{path: e.File}
	var err error
	if info, gone := os.Stat(e.File); gone == nil && !info.Mode().IsRegular() {
		out.file, err = os.OpenFile(e.File, os.O_WRONLY, 0)
	} else {
		out.file, err = os.CreateTemp(filepath.Dir(e.File), filepath.Base(e.File)+".partial-")
		if err == nil {
			out.partial = out.file.Name()
		}
	}
	if err != nil {
		return nil, err
	}
	out.Writer = out.file
	if strings.HasSuffix(e.File, ".gz") {
		out.zip = gzip.NewWriter(out.file)
		out.Writer = out.zip
	}
	return out, nil
}

func (o *output) named() string {
	if o.path == "" {
		return ""
	}
	return " to " + o.path
}

// finish completes the file.
func (o *output) finish() error {
	if o.file == nil {
		return nil
	}
	var err error
	if o.zip != nil {
		err = o.zip.Close()
	}
	if err == nil && o.partial != "" {
		err = o.file.Sync()
	}
	err = errors.Join(err, o.file.Close())
	o.file = nil
	if err == nil && o.partial != "" {
		err = os.Rename(o.partial, o.path)
	}
	if err == nil {
		o.partial = ""
	}
	return err
}

// discard removes an incomplete file.
func (o *output) discard() {
	if o.file != nil {
		_ = o.file.Close()
	}
	if o.partial != "" {
		_ = os.Remove(o.partial)
	}
}

// progress returns a writer that counts lines, and prints the number from time to time.
func (o *Options) progress(to io.Writer) io.Writer {
	return &counter{Writer: to, o: o, next: time.Now().Add(sayEvery)}
}

type counter struct {
	io.Writer
	o     *Options
	lines int64
	next  time.Time
}

// Write implements io.Writer.
func (c *counter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	c.lines += int64(strings.Count(string(data[:n]), "\n"))
	if time.Now().After(c.next) {
		c.o.say("%s so far", traces(c.lines))
		c.next = time.Now().Add(sayEvery)
	}
	return n, err
}
