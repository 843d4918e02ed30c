// SPDX-License-Identifier: Apache-2.0

package httpserve_test

import (
	"io"
	"net"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// TestRefused: with Refused, a connection above the limit is closed at once. After another one is
// closed, a new connection is accepted.
func TestRefused(t *testing.T) {
	refused := make(chan struct{}, 1)
	ln := opened(
		t,
		httpserve.Endpoint{Address: "127.0.0.1:0"},
		httpserve.Purpose{MaxConnections: 1, Refused: func() { refused <- struct{}{} }},
	)
	accepted := make(chan net.Conn)
	go func() {
		defer close(accepted)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	dial := func() net.Conn {
		t.Helper()
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	dial()
	served := <-accepted
	surplus := dial()
	<-refused
	if n, err := surplus.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("the second connection received %d bytes, %v", n, err)
	}
	for range 2 { // a second Close must not free another slot
		_ = served.Close()
	}
	third := dial()
	served = <-accepted
	if _, err := io.WriteString(served, greeting); err != nil {
		t.Error(err)
	}
	got := make([]byte, len(greeting))
	if _, err := io.ReadFull(third, got); err != nil || string(got) != greeting {
		t.Errorf("the third connection received %q, %v", got, err)
	}
	dial()
	<-refused
	_ = served.Close()
	_ = ln.Close()
	if _, more := <-accepted; more {
		t.Error("accepted one more connection")
	}
}
