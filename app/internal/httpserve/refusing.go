// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"net"
	"sync"
)

// refusing is a listener that closes connections above its limit at once. For clients that can do
// without a response, a fast failure is better than a late response.
type refusing struct {
	net.Listener
	room    chan struct{}
	refused func()
}

func newRefusing(ln net.Listener, most int, refused func()) *refusing {
	return &refusing{Listener: ln, room: make(chan struct{}, most), refused: refused}
}

// Accept implements net.Listener.
func (r *refusing) Accept() (net.Conn, error) {
	for {
		conn, err := r.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case r.room <- struct{}{}:
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { <-r.room })}, nil
		default:
			_ = conn.Close()
			r.refused()
		}
	}
}

// counted is a connection that counts against the limit until it is closed.
type counted struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	err := c.Conn.Close()
	c.leave()
	return err
}
