// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// report writes the files for a CI system. A summary is added to its file, since several commands of a
// job may share it; the JUnit report replaces its file.
func (x *execution) report(traces []*span.Trace, now time.Time) error {
	o := render.Options{Now: now, Cluster: x.pipeline.Cluster}
	return errors.Join(
		toFile(x.Summary, os.O_APPEND, func(w io.Writer) error { return render.Summary(w, traces, o) }),
		toFile(x.JUnit, os.O_TRUNC, func(w io.Writer) error { return render.JUnit(w, traces, o) }),
	)
}

// checkReports returns an error if a report cannot be written.
func (c *Command) checkReports() error {
	nothing := func(io.Writer) error { return nil }
	return errors.Join(toFile(c.Summary, os.O_APPEND, nothing), toFile(c.JUnit, os.O_APPEND, nothing))
}

// toFile writes a file, unless path is empty.
func toFile(path string, mode int, write func(io.Writer) error) (err error) {
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|mode, 0o644) //nolint:gosec // a report for others to read
	if err != nil {
		return fmt.Errorf("cannot open the report: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return write(f)
}
