// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"errors"
	"net/http"
	"time"
)

// chunkSize is the part of a response that a client must read within SlowClient.Patience, in bytes.
const chunkSize = 64 << 10

// SlowClient writes a response in chunks, each with its own deadline: slow clients get all of it, and
// clients that stop reading are cut off.
type SlowClient struct {
	Writer http.ResponseWriter
	// Patience limits the write of each chunk.
	Patience time.Duration
	// Until limits all writes together; zero means no limit.
	Until time.Time
}

// Write implements io.Writer. It returns an error after a missed deadline.
func (c *SlowClient) Write(b []byte) (n int, err error) {
	control := http.NewResponseController(c.Writer)
	for len(b) > 0 && err == nil {
		deadline := time.Now().Add(c.Patience)
		if !c.Until.IsZero() && c.Until.Before(deadline) {
			deadline = c.Until
		}
		// Only a test's recorder has no deadlines.
		if err := control.SetWriteDeadline(deadline); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return n, err
		}
		var m int
		m, err = c.Writer.Write(b[:min(len(b), chunkSize)])
		n, b = n+m, b[m:]
	}
	return n, err
}
