// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"bytes"
	"io"
	"sync"
	"sync/atomic"
)

// Limits, in bytes, for the copied part of a body.
const (
	maxWriteAnswer  = 16 << 20
	maxReadAnswer   = 1 << 20
	maxWriteRequest = 4 << 20
	maxOptions      = 1 << 20
	maxAhead        = 1 << 20
)

// capture is a body that passes through and keeps a copy of its first limit bytes. done, if set, is
// called once, before the reader gets the last byte. So its effects are complete when the receiver
// has the whole body.
type capture struct {
	io.ReadCloser
	limit  int
	length int64
	done   func()
	// drain, if set, is called when the body is closed before its end. Its argument reads the rest.
	drain func(read func())

	ended atomic.Bool
	once  sync.Once
	mu    sync.Mutex
	buf   bytes.Buffer
	read  int64

	// early holds the bytes that ahead has read, earlyErr the error that ended it.
	early    *bytes.Reader
	earlyErr error
}

// ahead reads a body of known, moderate length at once. So its content is available even if the
// server responds without reading it.
func (c *capture) ahead(length int64) {
	if length <= 0 || length > maxAhead {
		return
	}
	text := make([]byte, length)
	n, err := io.ReadFull(c.ReadCloser, text)
	c.buf.Write(text[:n])
	c.read = int64(n)
	c.early, c.earlyErr = bytes.NewReader(text[:n]), err
}

// Read implements io.Reader.
func (c *capture) Read(p []byte) (int, error) {
	if c.early != nil {
		switch n, err := c.early.Read(p); {
		case err == nil:
			return n, nil
		case c.earlyErr != nil:
			return 0, c.earlyErr
		}
	}
	n, err := c.ReadCloser.Read(p)
	c.mu.Lock()
	c.read += int64(n)
	if room := c.limit - c.buf.Len(); room > 0 {
		c.buf.Write(p[:min(n, room)])
	}
	ended := err != nil || c.ended.Load() || c.length >= 0 && c.read >= c.length
	c.mu.Unlock()
	if ended {
		c.ended.Store(true)
		c.finish()
	}
	return n, err
}

// Close implements io.Closer.
func (c *capture) Close() error {
	if c.drain != nil && !c.ended.Load() {
		c.drain(func() { _, _ = io.Copy(io.Discard, io.LimitReader(onlyReader{c}, int64(c.limit))) })
	}
	err := c.ReadCloser.Close()
	c.finish()
	return err
}

func (c *capture) finish() {
	if c.done != nil {
		c.once.Do(c.done)
	}
}

// bytes returns the copy and whether it is the whole body so far.
func (c *capture) bytes() (kept []byte, whole bool) {
	if c == nil {
		return nil, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.buf.Bytes(), c.read == int64(c.buf.Len())
}

// onlyReader hides everything but Read.
type onlyReader struct{ io.Reader }
