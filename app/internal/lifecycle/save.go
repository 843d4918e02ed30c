// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// ErrFormat is the error of Restore for damaged or incomplete input, and for a state of another
// format version or another cluster. The error of Restore wraps it. A caller without another copy
// begins with a new Engine.
var ErrFormat = errors.New("not an engine's state that can be read")

// savedVersion is the version of the format. Any change to the saved fields, or to their order,
// needs a new version. A test detects such a change.
const savedVersion = 11

// restoredVersion is the oldest version that Restore reads, that of the previous release. It has no
// tables of fields. Version 10 has no time of a complete rollout.
const restoredVersion = 9

// savedMagic is the beginning of every saved engine. The version follows in one byte.
const savedMagic = "lifeline engine\n"

// Save writes the complete state of the engine. Restore returns an Engine that behaves exactly like
// this one. Another Save of that Engine gives the same bytes. Save streams its output, and does not
// change the engine. All errors are errors of w.
func (e *Engine) Save(w io.Writer) error {
	if _, err := w.Write(append([]byte(savedMagic), savedVersion)); err != nil {
		return fmt.Errorf("cannot save the engine: %w", err)
	}
	c := &coder{w: &blockWriter{out: w}, format: savedVersion}
	c.engine(e)
	if err := c.w.close(); err != nil {
		return fmt.Errorf("cannot save the engine: %w", err)
	}
	return nil
}

// Restore reads the output of Save, and not one byte more of r. The options are those of New. They
// are not saved, but the cluster must be the saved one. An error wraps ErrFormat or is an error of
// r. Restore then returns a nil Engine. The use of memory is at most a multiple of the input.
func Restore(opts Options, r io.Reader) (*Engine, error) {
	head := make([]byte, len(savedMagic)+1)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, cannotRestore(early(err))
	}
	if !bytes.HasPrefix(head, []byte(savedMagic)) {
		return nil, cannotRestore(fmt.Errorf("%w: it does not begin like one", ErrFormat))
	}
	v := head[len(savedMagic)]
	if v < restoredVersion || v > savedVersion {
		return nil, cannotRestore(fmt.Errorf(
			"%w: its format is version %d; known are %d to %d", ErrFormat, v, restoredVersion, savedVersion))
	}
	e := New(opts)
	c := &coder{r: &blockReader{in: r}, format: v}
	c.engine(e)
	if c.err == nil {
		c.err = c.r.close()
	}
	if c.err != nil {
		return nil, cannotRestore(c.err)
	}
	e.reindex()
	e.hold()
	return e, nil
}

func cannotRestore(err error) error { return fmt.Errorf("cannot restore the engine: %w", err) }

// engine describes the complete state. The rest follows from it: the derivation, the index, and the
// pools of shared values.
func (c *coder) engine(e *Engine) {
	cluster := e.opts.Cluster
	text(c, &cluster)
	if cluster != e.opts.Cluster {
		c.fail("it is of cluster %q, not %q", cluster, e.opts.Cluster)
	}
	c.time(&e.compacted)
	c.time(&e.last)
	dict(
		c,
		e.objects,
		cmp.Compare[types.UID],
		text[types.UID],
		func(c *coder, t **change.Timeline) { sole(c, t, (*coder).timeline) },
	)
	dict(c, e.runs, compareIDs, (*coder).traceID, func(c *coder, r **observation.Run) { sole(c, r, (*coder).run) })
	dict(
		c,
		e.refused,
		cmp.Compare[string],
		text[string],
		func(c *coder, w **observation.Write) { sole(c, w, (*coder).request) },
	)
	dict(
		c,
		e.nodes,
		cmp.Compare[string],
		text[string],
		func(c *coder, n **observation.Node) { sole(c, n, (*coder).node) },
	)
	dict(c, e.taken, compareIDs, (*coder).traceID, (*coder).taken)
	list(c, &e.late, (*coder).amendment)
	c.trail(&e.trail)
	if c.format > 9 {
		dict(c, e.series, cmp.Compare[types.UID], text[types.UID], func(c *coder, l **seriesList) {
			sole(c, l, (*coder).seriesList)
		})
		c.int64((*int64)(&e.auditDelay))
		c.time(&e.auditAt)
	}
}

func compareIDs(a, b trace.TraceID) int { return bytes.Compare(a[:], b[:]) }
