// SPDX-License-Identifier: Apache-2.0

package httpserve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// closer is a handler whose requests last until it is closed.
type closer struct {
	began, closed chan struct{}
}

func (c *closer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.began <- struct{}{}
	select {
	case <-c.closed:
		_, _ = io.WriteString(w, "done")
	case <-r.Context().Done():
	}
}

func (c *closer) Close() error { close(c.closed); return nil }

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

func TestServeEndsInGoodOrder(t *testing.T) {
	ln := listenLoopback(t)
	h := &closer{began: make(chan struct{}), closed: make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln, h) }()
	got := make(chan string, 1)
	tr := &http.Transport{DisableKeepAlives: true}
	go func() {
		res, err := (&http.Client{Transport: tr}).Get("http://" + ln.Addr().String())
		if err != nil {
			got <- err.Error()
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		got <- string(body)
	}()
	<-h.began
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text := <-got; text != "done" {
		t.Errorf("the request under way got %q", text)
	}
	if _, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

func TestServeTellsOfItsListener(t *testing.T) {
	ln := listenLoopback(t)
	ln.Close()
	err := Serve(t.Context(), ln, http.NotFoundHandler())
	if !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), ln.Addr().String()) {
		t.Errorf("got %v", err)
	}
}

// TestServeBoundsHeaders: a header that is too long is refused before it is all
// there.
func TestServeBoundsHeaders(t *testing.T) {
	ln := listenLoopback(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, ln, http.NotFoundHandler()) }()
	conn, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// As much as is read of it: what is not read would be answered by a reset.
	const slack = 4096
	head := "GET / HTTP/1.1\r\nHost: localhost\r\nX: "
	if _, err := io.WriteString(conn, head+strings.Repeat("x", MaxHeader+slack-len(head)+1)); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(line, "431") {
		t.Errorf("got %q, %v", line, err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
