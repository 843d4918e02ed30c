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

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// ErrFormat is what Restore's error wraps when what it reads is damaged, ends
// early, or was saved in another version of the format or for another cluster:
// whoever has nothing else begins with a new Engine.
var ErrFormat = errors.New("not an engine's state that can be read")

// savedVersion is the version of the format. Any change to what the describe
// functions carry, or to its order, is a new one: a test notices.
const savedVersion = 10

// restoredVersion is the oldest version that Restore reads: that of the previous release. It had no
// tables of fields.
const restoredVersion = 9

// savedMagic begins every saved engine; the version follows in one byte.
const savedMagic = "lifeline engine\n"

// Save writes everything that the engine knows, so that Restore gives an Engine
// that goes on exactly like this one; saved again, that gives the same bytes. It
// writes as it goes and changes nothing. An error is one of w's.
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

// Restore reads what Save has written, and no byte more of r. The options are
// those of New; they are not saved, and the cluster must be the one that was
// saved. An error wraps ErrFormat, or else is one of r's; then there is no
// Engine. Memory is bounded by a multiple of what r gives.
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

// engine describes the whole state. What is not in it follows from what is:
// the derivation, the index, and the pools of what is alike.
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
		func(c *coder, t **timeline) { sole(c, t, (*coder).timeline) },
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
