// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"strings"
	"sync"
)

// Output is a buffer that signals the arrival of a text. The zero value signals nothing.
type Output struct {
	// Seen closes when the text has been written.
	Seen chan struct{}

	mu   sync.Mutex
	buf  bytes.Buffer
	text string
	done bool
}

// WaitFor returns a buffer that signals the arrival of text.
func WaitFor(text string) *Output { return &Output{Seen: make(chan struct{}), text: text} }

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.buf.Write(p)
	if o.Seen != nil && !o.done && strings.Contains(o.buf.String(), o.text) {
		o.done = true
		close(o.Seen)
	}
	return n, err
}

// String returns everything written so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}
