// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Backend is an OTLP receiver over HTTP that can be away, or refuse what it
// gets.
type Backend struct {
	*Collector
	server *http.Server
	// answer is the status of refusals; zero accepts requests.
	answer atomic.Int32
	// refused is the number of refused requests.
	refused atomic.Int64
}

// NewBackend starts a backend, which the test ends.
func NewBackend(t testing.TB) *Backend {
	t.Helper()
	b := &Backend{Collector: new(Collector)}
	b.stop = func() {
		if b.server != nil {
			_ = b.server.Close()
		}
	}
	b.Endpoint = Free(t) // no other program takes it while the backend is away
	b.Up(t)
	t.Cleanup(b.Stop)
	return b
}

// URL is what to give as endpoint.
func (b *Backend) URL() string { return "http://" + b.Endpoint }

// Down closes the backend: connections are refused.
func (b *Backend) Down() {
	_ = b.server.Close()
	b.served.Wait()
	b.server = nil
}

// Up opens it again at the same address.
func (b *Backend) Up(t testing.TB) {
	t.Helper()
	var listener net.Listener
	Eventually(t, "the backend listening at "+b.Endpoint, func() (ok bool) {
		var err error
		listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", b.Endpoint)
		return err == nil
	})
	b.Endpoint = listener.Addr().String()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		if code := b.answer.Load(); code != 0 {
			b.refused.Add(1)
			http.Error(w, "not now", int(code))
			return
		}
		b.ServeHTTP(w, r)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	b.server = server
	b.served.Go(func() { _ = server.Serve(listener) })
}

// Answer refuses what comes with that status; zero ends it.
func (b *Backend) Answer(status int) { b.answer.Store(int32(status)) }

// Refused is how many requests were refused.
func (b *Backend) Refused() int64 { return b.refused.Load() }

// Once are the spans that came and want accepts, each once, and how many
// repetitions there were. One that differs from what came first is an error.
func (b *Backend) Once(t testing.TB, want func(*Span) bool) (once []*Span, repeated int) {
	t.Helper()
	type id struct{ trace, span string }
	known := map[id]*Span{}
	for _, s := range b.Spans(want) {
		k := id{s.Trace, s.ID}
		first, again := known[k]
		if !again {
			known[k] = s
			once = append(once, s)
			continue
		}
		repeated++
		if diff := cmp.Diff(first, s, cmpopts.IgnoreFields(Span{}, "Came", "Sender")); diff != "" {
			t.Errorf("span %s %s of trace %s came twice and differs (-first +then):\n%s", s.Name, s.ID, s.Trace, diff)
		}
	}
	return slices.Clip(once), repeated
}
