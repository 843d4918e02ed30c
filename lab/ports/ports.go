// SPDX-License-Identifier: Apache-2.0

// Package ports finds free TCP ports for programs that cannot choose one
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

// Free chooses ports in this range. It lies below the ephemeral ports of the system (from 32768 on Linux). So no
// connection of another program takes a port before its program listens, or during a restart.
const first, last = 12000, 32000

// picked counts the tried ports. Each process starts at another port, because
// several processes may choose at once.
var picked atomic.Int64

func init() { picked.Store(int64(os.Getpid()) * 100) }

// claims holds a UDP socket for each chosen port until the process ends. Another
// process finds the port taken without listening on TCP: even a short listener
// would accept connections to a port that must refuse them.
var claims struct {
	sync.Mutex
	held []net.PacketConn
}

// Free returns n loopback ports without a listener. It returns them to no other
// caller while this process runs.
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

// claim claims the port of an address, unless it has a listener.
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
