// SPDX-License-Identifier: Apache-2.0

package httpserve_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// held is a handler whose requests last until let is closed or their context ends.
type held struct{ began, let, ended chan struct{} }

func newHeld() *held {
	return &held{began: make(chan struct{}, 1), let: make(chan struct{}), ended: make(chan struct{}, 1)}
}

func (h *held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.began <- struct{}{}
	select {
	case <-h.let:
		_, _ = io.WriteString(w, "done")
	case <-r.Context().Done():
		h.ended <- struct{}{}
	}
}

func loopback(t *testing.T) net.Listener {
	t.Helper()
	return opened(t, httpserve.Endpoint{Address: "127.0.0.1:0"}, httpserve.Purpose{})
}

// serving runs h until stop is called. The result of Serve is sent to ended.
func serving(t *testing.T, h httpserve.HTTP) (address string, stop func(), ended <-chan error) {
	t.Helper()
	ln := loopback(t)
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan error, 1)
	go func() { end <- h.Serve(ctx, ln) }()
	return ln.Addr().String(), cancel, end
}

// get sends a request in the background. It returns a channel for the response's body, which is
// empty after an error.
func get(address string) <-chan string {
	got := make(chan string, 1)
	go func() {
		tr := &http.Transport{DisableKeepAlives: true}
		res, err := (&http.Client{Transport: tr}).Get("http://" + address)
		if err != nil {
			got <- ""
			return
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		got <- string(body)
	}()
	return got
}

// TestHTTPEndsInGoodOrder: at shutdown, running requests get their response, and new connections
// are refused.
func TestHTTPEndsInGoodOrder(t *testing.T) {
	h := newHeld()
	ending := make(chan struct{})
	address, stop, ended := serving(t, httpserve.HTTP{
		Doing:   "test",
		Handler: h,
		Grace:   time.Minute,
		Ending:  func() error { close(ending); return nil },
	})
	got := get(address)
	<-h.began
	stop()
	<-ending
	select {
	case err := <-ended:
		t.Fatalf("Serve returned before the request ended: %v", err)
	default:
	}
	close(h.let)
	if text := <-got; text != "done" {
		t.Errorf("the running request got %q", text)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", address); err == nil {
		conn.Close()
		t.Error("the address still accepts connections")
	}
}

// TestHTTPEndsWhatIsLeft: requests that outlast the grace are cancelled, and their handlers have
// returned before Serve returns.
func TestHTTPEndsWhatIsLeft(t *testing.T) {
	h := newHeld()
	why := errors.New("why")
	address, stop, ended := serving(
		t,
		httpserve.HTTP{Doing: "test", Handler: h, Grace: time.Millisecond, Ending: func() error { return why }},
	)
	got := get(address)
	<-h.began
	stop()
	if err := <-ended; !errors.Is(err, why) {
		t.Errorf("got %v, want the error of Ending", err)
	}
	select {
	case <-h.ended:
	default:
		t.Error("a request is still running")
	}
	if text := <-got; text != "" {
		t.Errorf("the cancelled request got %q", text)
	}
}

// TestHTTPTellsOfItsListener: after a failure of the listener, Serve returns an error with its
// address.
func TestHTTPTellsOfItsListener(t *testing.T) {
	ln := loopback(t)
	ln.Close()
	err := httpserve.HTTP{Doing: "take greetings", Handler: http.NotFoundHandler()}.Serve(t.Context(), ln)
	if !errors.Is(err, net.ErrClosed) ||
		!strings.HasPrefix(err.Error(), "cannot take greetings on "+ln.Addr().String()) {
		t.Errorf("got %v", err)
	}
}

// TestHTTPBounds: a long header is refused before its end, and an incomplete request is ended after
// Read.
func TestHTTPBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, request, answer string
	}{
		// The header is exactly as long as the server reads. Unread bytes would reset the
		// connection.
		"long header": {
			"memory is bounded",
			"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", httpserve.MaxHeader+4096-35), "431",
		},
		"slow body": {
			"the time of a request is bounded",
			"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", "408",
		},
	} {
		t.Run(name, func(t *testing.T) {
			reads := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); err != nil {
					w.WriteHeader(http.StatusRequestTimeout)
				}
			})
			address, stop, ended := serving(
				t,
				httpserve.HTTP{Doing: "test", Handler: reads, Read: 50 * time.Millisecond, Grace: time.Minute},
			)
			conn, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, tc.request); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(conn).ReadString('\n')
			if err != nil || !strings.Contains(line, tc.answer) {
				t.Errorf("%s: got %q, %v, want %s", tc.reason, line, err, tc.answer)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}
