// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/change"
)

// coder writes values to a saved engine, or reads them from one. Each struct has one method for
// both directions. It names the fields of the struct in order. So the saved and the restored fields
// cannot differ. The coder keeps the first error, and then writes or reads nothing more.
type coder struct {
	w   *blockWriter // nil when reading
	r   *blockReader // nil when writing
	err error
	// format is the version of the format.
	format byte
	// sec is the previous time, in seconds. Most times are close to each other.
	sec int64
	// alike holds the shared values.
	alike
	// of is the current timeline.
	of *change.Timeline
}

func (c *coder) reading() bool { return c.r != nil }

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
	}
}

func (c *coder) uint(v *uint64) {
	if !c.reading() {
		c.w.buf = binary.AppendUvarint(c.w.buf, *v)
		c.w.flush()
		return
	}
	*v = 0
	if c.err != nil {
		return
	}
	n, err := binary.ReadUvarint(c.r)
	switch {
	case c.r.err != nil:
		c.err = c.r.err
	case err != nil:
		c.fail("a number is too long")
	default:
		*v = n
	}
}

func (c *coder) int64(v *int64) {
	u := uint64(*v)<<1 ^ uint64(*v>>63) //nolint:gosec // zigzag: small numbers of either sign are short
	c.uint(&u)
	if c.reading() {
		*v = int64(u>>1) ^ -int64(u&1)
	}
}

func (c *coder) int32(v *int32) {
	n := int64(*v)
	c.int64(&n)
	if n < math.MinInt32 || n > math.MaxInt32 {
		c.fail("a number is too large")
		n = 0
	}
	if c.reading() {
		*v = int32(n)
	}
}

func (c *coder) int(v *int) {
	n := int64(*v)
	c.int64(&n)
	if c.reading() {
		*v = int(n)
	}
}

func (c *coder) bool(v *bool) {
	var n uint64
	if *v {
		n = 1
	}
	c.uint(&n)
	if c.reading() {
		*v = n == 1
	}
}

// The forms of a time. Times of objects are compared as values, including their location.
const (
	timeNone = iota
	timeUTC
	timeLocal
)

// time writes or reads a time. A time in UTC stays in UTC, any other becomes local.
func (c *coder) time(v *time.Time) {
	form := uint64(timeLocal)
	switch {
	case v.IsZero():
		form = timeNone
	case v.Location() == time.UTC:
		form = timeUTC
	}
	c.uint(&form)
	if c.reading() {
		*v = time.Time{}
	}
	if form == timeNone || c.err != nil {
		return
	}
	since, nano := v.Unix()-c.sec, int64(v.Nanosecond())
	c.int64(&since)
	c.int64(&nano)
	if nano < 0 || nano >= int64(time.Second) {
		c.fail("a time is none")
		return
	}
	c.sec += since
	if c.reading() {
		*v = time.Unix(c.sec, nano)
		if form == timeUTC {
			*v = v.UTC()
		}
	}
}

func (c *coder) traceID(v *trace.TraceID) { c.fixed(v[:]) }
func (c *coder) spanID(v *trace.SpanID)   { c.fixed(v[:]) }

// fixed writes or reads len(p) bytes.
func (c *coder) fixed(p []byte) {
	if !c.reading() {
		c.w.buf = append(c.w.buf, p...)
		c.w.flush()
		return
	}
	for len(p) > 0 && c.err == nil {
		p = p[copy(p, c.r.next(len(p))):]
		c.err = c.r.err
	}
}

// text writes or reads a string. Each value is saved once.
func text[S ~string](c *coder, s *S) {
	v := string(*s)
	if c.strings.carry(c, v, v == "", &v) {
		n := uint64(len(v))
		c.uint(&n)
		if c.reading() {
			v = c.read(n)
		} else {
			c.fixed([]byte(v))
		}
		c.strings.add(c, v, v)
	}
	if c.reading() {
		*s = S(v)
	}
}

// read reads n bytes of text. It never keeps more bytes than the input contains.
func (c *coder) read(n uint64) string {
	var p []byte
	for c.err == nil && uint64(len(p)) < n {
		p = append(p, c.r.next(int(min(n-uint64(len(p)), blockSize)))...)
		c.err = c.r.err
	}
	return string(p)
}

// sole writes or reads the value of a pointer that is neither shared nor nil.
func sole[T any](c *coder, p **T, each func(*coder, *T)) {
	if c.reading() {
		*p = new(T)
	}
	each(c, *p)
}

// optional writes or reads the value of a pointer that is not shared, or nil.
func optional[T any](c *coder, p **T, each func(*coder, *T)) {
	is := *p != nil
	c.bool(&is)
	if is {
		sole(c, p, each)
	}
}

// list writes or reads a slice.
func list[T any](c *coder, s *[]T, each func(*coder, *T)) {
	n := uint64(len(*s))
	c.uint(&n)
	if !c.reading() {
		for i := range *s {
			each(c, &(*s)[i])
		}
		return
	}
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

// dict writes or reads a map, in the order of its keys.
func dict[K comparable, V any](
	c *coder,
	m map[K]V,
	order func(a, b K) int,
	key func(*coder, *K),
	value func(*coder, *V),
) {
	n := uint64(len(m))
	c.uint(&n)
	if !c.reading() {
		keys := make([]K, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, order)
		for _, k := range keys {
			v := m[k]
			key(c, &k)
			value(c, &v)
		}
		return
	}
	for ; n > 0 && c.err == nil; n-- {
		var (
			k K
			v V
		)
		key(c, &k)
		value(c, &v)
		m[k] = v
	}
}
