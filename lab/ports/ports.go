// SPDX-License-Identifier: Apache-2.0

// Package ports finds TCP ports for programs that cannot be told to find one
// themselves.
package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
)

// The ports that Free picks from: below those that a system gives to whoever asks
// for any (from 32768 on Linux), so that no connection of another program has the
// port by chance when the one that it was picked for listens on it, or does so
// again after a restart.
const first, last = 12000, 32000

// picked counts the ports tried so far. Each process begins elsewhere: several may
// pick at once.
var picked atomic.Int64

func init() { picked.Store(int64(os.Getpid()) * 100) }

// claims holds a UDP socket for each port given to this process, until its end.
// Another process that picks meets that socket before it tries to listen on TCP:
// even a listener of a moment would answer a connection to a port that has to
// refuse it.
var claims struct {
	sync.Mutex
	held []net.PacketConn
}

// Free returns n ports of loopback on which nobody listens, and which Free gives
// to nobody else during the life of this process.
func Free(n int) (free []int, err error) {
	var held []net.PacketConn
	for range last - first {
		if len(free) == n {
			claims.Lock()
			claims.held = append(claims.held, held...)
			claims.Unlock()
			return free, nil
		}
		port := int(first + picked.Add(1)%(last-first))
		claim, taken := claim(net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if taken != nil {
			err = taken
			continue
		}
		free, held = append(free, port), append(held, claim)
	}
	for _, claim := range held {
		_ = claim.Close() // nothing was sent on it
	}
	return nil, fmt.Errorf("cannot find %d free ports from %d to %d: %w", n, first, last, err)
}

// claim claims the port of an address on which nobody listens.
func claim(address string) (net.PacketConn, error) {
	claim, err := new(net.ListenConfig).ListenPacket(context.Background(), "udp", address)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", address)
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		return nil, errors.Join(err, claim.Close())
	}
	return claim, nil
}
