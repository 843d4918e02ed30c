// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/snapshot"
)

// The files oldformat*.go read the states of earlier releases, in the formats 9 to 11. The next
// release removes these files and testdata/saved/v9.gz to v11.gz.

// The formats. Version 9 has no tables of fields. Version 10 has no time of a complete rollout.
const (
	oldestFormat    = 9
	newestOldFormat = 11
)

// restoreOld reads a state of an old format, without its head, into e.
func restoreOld(e *Engine, format byte, in io.Reader) error {
	c := &oldReader{in: snapshot.NewBlockReader(in), format: format}
	c.engine(e)
	if c.err == nil {
		c.err = c.in.Close()
	}
	return c.err
}

// oldReader reads values. It keeps the first error, and then reads nothing more.
type oldReader struct {
	in  *snapshot.BlockReader
	err error
	// format is the version of the format.
	format byte
	// sec is the previous time, in seconds. Each time is relative to it.
	sec int64
	// alike holds the shared values.
	alike
	// of is the current timeline.
	of *change.Timeline
}

// engine reads the complete state.
func (c *oldReader) engine(e *Engine) {
	var cluster string
	text(c, &cluster)
	if cluster != e.opts.Cluster {
		c.fail("it is of cluster %q, not %q", cluster, e.opts.Cluster)
	}
	c.time(&e.compacted)
	c.time(&e.last)
	dict(c, e.objects, text[types.UID], func(c *oldReader, t **change.Timeline) { sole(c, t, (*oldReader).timeline) })
	dict(c, e.runs, (*oldReader).traceID, func(c *oldReader, r **observation.Run) { sole(c, r, (*oldReader).run) })
	dict(c, e.refused, text[string], func(c *oldReader, w **observation.Write) { sole(c, w, (*oldReader).request) })
	dict(c, e.nodes, text[string], func(c *oldReader, n **observation.Node) { sole(c, n, (*oldReader).node) })
	dict(c, e.taken, (*oldReader).traceID, (*oldReader).taken)
	list(c, &e.late, (*oldReader).amendment)
	c.trail(&e.trail)
	if c.format > 9 {
		dict(c, e.series, text[types.UID], func(c *oldReader, l **seriesList) { sole(c, l, (*oldReader).seriesList) })
		c.int64((*int64)(&e.auditDelay))
		c.time(&e.auditAt)
	}
}

func (c *oldReader) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
	}
}

func (c *oldReader) uint(v *uint64) {
	*v = 0
	if c.err != nil {
		return
	}
	n, err := binary.ReadUvarint(c.in)
	switch {
	case c.in.Err() != nil:
		c.err = c.in.Err()
	case err != nil:
		c.fail("a number is too long")
	default:
		*v = n
	}
}

func (c *oldReader) int64(v *int64) {
	var u uint64
	c.uint(&u)
	*v = int64(u>>1) ^ -int64(u&1)
}

func (c *oldReader) int32(v *int32) {
	var n int64
	c.int64(&n)
	if n < math.MinInt32 || n > math.MaxInt32 {
		c.fail("a number is too large")
		n = 0
	}
	*v = int32(n)
}

func (c *oldReader) int(v *int) {
	var n int64
	c.int64(&n)
	*v = int(n)
}

func (c *oldReader) bool(v *bool) {
	var n uint64
	c.uint(&n)
	*v = n == 1
}

// The forms of a time. Times of objects are compared as values, including their location.
const (
	timeNone = iota
	timeUTC
	timeLocal
)

// time reads a time.
func (c *oldReader) time(v *time.Time) {
	var (
		form        uint64
		since, nano int64
	)
	*v = time.Time{}
	if c.uint(&form); form == timeNone || c.err != nil {
		return
	}
	c.int64(&since)
	c.int64(&nano)
	if nano < 0 || nano >= int64(time.Second) {
		c.fail("a time is none")
		return
	}
	c.sec += since
	*v = time.Unix(c.sec, nano)
	if form == timeUTC {
		*v = v.UTC()
	}
}

func (c *oldReader) traceID(v *trace.TraceID) { c.fixed(v[:]) }
func (c *oldReader) spanID(v *trace.SpanID)   { c.fixed(v[:]) }

// fixed reads len(p) bytes.
func (c *oldReader) fixed(p []byte) {
	for len(p) > 0 && c.err == nil {
		p = p[copy(p, c.in.Next(len(p))):]
		c.err = c.in.Err()
	}
}

// text reads a string.
func text[S ~string](c *oldReader, s *S) {
	var v string
	if c.strings.carry(c, &v) {
		var n uint64
		c.uint(&n)
		v = c.read(n)
		c.strings.add(v)
	}
	*s = S(v)
}

// maxRead is the maximum number of bytes that read reserves before they are there.
const maxRead = 64 << 10

// read reads n bytes of text. It never keeps more bytes than the input contains.
func (c *oldReader) read(n uint64) string {
	var p []byte
	for c.err == nil && uint64(len(p)) < n {
		p = append(p, c.in.Next(int(min(n-uint64(len(p)), maxRead)))...)
		c.err = c.in.Err()
	}
	return string(p)
}

// sole reads the value of a pointer that is neither shared nor nil.
func sole[T any](c *oldReader, p **T, each func(*oldReader, *T)) {
	*p = new(T)
	each(c, *p)
}

// optional reads the value of a pointer that is not shared, or nil.
func optional[T any](c *oldReader, p **T, each func(*oldReader, *T)) {
	var is bool
	if c.bool(&is); is {
		sole(c, p, each)
	}
}

// list reads a slice.
func list[T any](c *oldReader, s *[]T, each func(*oldReader, *T)) {
	var n uint64
	c.uint(&n)
	// A damaged n may be too large. So memory grows only with the elements, of at least one byte
	// each.
	*s = nil
	if n > 0 {
		*s = make([]T, 0, min(n, 64))
	}
	for ; n > 0 && c.err == nil; n-- {
		var v T
		each(c, &v)
		*s = append(*s, v)
	}
	if cap(*s) > len(*s) {
		*s = slices.Clone(*s)
	}
}

// dict reads a map.
func dict[K comparable, V any](c *oldReader, m map[K]V, key func(*oldReader, *K), value func(*oldReader, *V)) {
	var n uint64
	for c.uint(&n); n > 0 && c.err == nil; n-- {
		var (
			k K
			v V
		)
		key(c, &k)
		value(c, &v)
		m[k] = v
	}
}
