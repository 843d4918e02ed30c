// SPDX-License-Identifier: Apache-2.0

// Package ports finds TCP ports for programs that cannot be told to find one
// themselves.
package ports

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"sync/atomic"
)

// The ports that Free picks from: below those that a system gives to whoever asks
// for any (from 32768 on Linux), so that no connection of another program has the
// port by chance when the one that it was picked for listens on it, or does so
// again after a restart.
const first, last = 12000, 32000

// picked counts what was tried; each process begins elsewhere, since several may
// pick at once.
var picked atomic.Int64

func init() { picked.Store(int64(os.Getpid()) * 100) }

// Free returns n ports of loopback on which nobody listens, none of which this
// process was given lately.
func Free(n int) (free []int, err error) {
	for range last - first {
		if len(free) == n {
			return free, nil
		}
		port := int(first + picked.Add(1)%(last-first))
		l, taken := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if taken != nil {
			err = taken
			continue
		}
		free = append(free, port)
		if err := l.Close(); err != nil {
			return nil, fmt.Errorf("cannot give up port %d again: %w", port, err)
		}
	}
	return nil, fmt.Errorf("cannot find %d free ports from %d to %d: %w", n, first, last, err)
}
