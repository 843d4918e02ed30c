// SPDX-License-Identifier: Apache-2.0

package observation

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// recordingVersion is the version of the recording format. New fields need no new version, because
// readers ignore unknown fields.
const recordingVersion = 1

// maxLine bounds one line of a recording, written or read.
const maxLine = 4 << 20

// Header is the first line of a recording.
type Header struct {
	// Version is the version of the format; NewWriter sets it.
	Version int `json:"lifelineRecording"`
	// Cluster identifies the cluster. Trace IDs are derived from it.
	Cluster string `json:"cluster"`
	// Started is the start of the recording, by the observer's clock.
	Started time.Time `json:"started"`
}

// Writer writes a recording: a header, then one observation per line. It is not safe for concurrent
// use.
type Writer struct {
	out *bufio.Writer
	buf bytes.Buffer
}

// NewWriter starts a recording on w. Lines are buffered until Flush.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Version = recordingVersion
	writer := &Writer{out: bufio.NewWriterSize(w, 64<<10)}
	if err := writer.line(h); err != nil {
		return nil, err
	}
	return writer, nil
}

// Write appends one observation.
func (w *Writer) Write(o *Observation) error {
	if err := o.check(); err != nil {
		return fmt.Errorf("cannot record an observation: %w", err)
	}
	return w.line(o)
}

// Flush writes all buffered lines to the underlying writer.
func (w *Writer) Flush() error {
	if err := w.out.Flush(); err != nil {
		return fmt.Errorf("cannot write recording: %w", err)
	}
	return nil
}

func (w *Writer) line(v any) error {
	w.buf.Reset()
	if err := json.NewEncoder(&w.buf).Encode(v); err != nil {
		return fmt.Errorf("cannot encode a line of a recording: %w", err)
	}
	if w.buf.Len() > maxLine {
		return fmt.Errorf("cannot record a line of %d bytes: the limit is %d", w.buf.Len(), maxLine)
	}
	if _, err := w.out.Write(w.buf.Bytes()); err != nil {
		return fmt.Errorf("cannot write recording: %w", err)
	}
	return nil
}

// Reader streams a recording. It is not safe for concurrent use.
type Reader struct {
	name   string
	in     *bufio.Reader
	line   int
	header Header
	buf    []byte
}

// NewReader reads the header of a recording from r. Every error has the name, usually a file's, and
// the number of the line.
func NewReader(r io.Reader, name string) (*Reader, error) {
	reader := &Reader{name: name, in: bufio.NewReaderSize(r, 64<<10)}
	text, err := reader.next()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cannot read recording %s: the file is empty", name)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &reader.header); err != nil || reader.header.Version == 0 {
		return nil, fmt.Errorf("cannot read recording %s, line 1: not the header of a Lifeline recording", name)
	}
	if v := reader.header.Version; v != recordingVersion {
		return nil, fmt.Errorf("cannot read recording %s: its format is version %d, known is %d", name, v,
			recordingVersion)
	}
	return reader, nil
}

// Header returns the recording's first line.
func (r *Reader) Header() Header { return r.header }

// Next returns the next observation, and io.EOF after the last one. A damaged or truncated line is
// an error with the line's number. Earlier observations remain valid.
func (r *Reader) Next() (*Observation, error) {
	text, err := r.next()
	if err != nil {
		return nil, err
	}
	o := new(Observation)
	if err := json.Unmarshal(text, o); err != nil {
		return nil, r.fail(fmt.Errorf("damaged: %w", err))
	}
	if err := o.check(); err != nil {
		return nil, r.fail(err)
	}
	o.Clean()
	return o, nil
}

// next returns the bytes of the next line, valid until the next call.
func (r *Reader) next() ([]byte, error) {
	r.line++
	r.buf = r.buf[:0]
	for {
		part, err := r.in.ReadSlice('\n')
		r.buf = append(r.buf, part...)
		switch {
		case len(r.buf) > maxLine:
			return nil, r.fail(fmt.Errorf("longer than %d bytes", maxLine))
		case err == nil:
			return r.buf, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(r.buf) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil, r.fail(errors.New("truncated"))
		default:
			return nil, r.fail(err)
		}
	}
}

func (r *Reader) fail(err error) error {
	return fmt.Errorf("cannot read recording %s, line %d: %w", r.name, r.line, err)
}

// check returns an error unless exactly one of the kinds is set.
func (o *Observation) check() error {
	said := 0
	for _, is := range []bool{o.State != nil, o.Gone != nil, o.Write != nil, o.Event != nil, o.Run != nil} {
		if is {
			said++
		}
	}
	if said != 1 {
		return fmt.Errorf("an observation says one thing, this one %d", said)
	}
	return nil
}
