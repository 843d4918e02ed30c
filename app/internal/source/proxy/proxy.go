// SPDX-License-Identifier: Apache-2.0

// Package proxy is a proxy on loopback between a command and its clusters. The command gets a
// temporary kubeconfig that leads through the proxy. Requests pass through; only writes get a trace
// context in addition. The proxy records each write with its time, its response and the stored
// version.
//
// The user's credentials stay in the proxy. The package does not find the effects of a write: that
// is the task of package lifecycle, from the observations of source/watch.
package proxy

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/observation"

	"github.com/kube-lifeline/lifeline/app/internal/source/request"
)

// Options configures a Proxy. Kubeconfig, Trace and Emit are required.
type Options struct {
	// Kubeconfig is the user's configuration, which the proxy mirrors.
	Kubeconfig *Kubeconfig
	// Trace is the context of the run's span. Writes belong to its trace.
	Trace trace.SpanContext
	// Servers are further API servers that the command may name (kubectl --server). They get the
	// credentials of its context.
	Servers []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Emit is called for each write, stored or not, before the command has the end of the response.
	// Calls may be concurrent.
	Emit func(*observation.Observation)
	// Wrote is called for each stored write, after Emit; may be nil.
	Wrote func(Written)
	// Refused is the same for each write that the API server refused.
	Refused func(Written)
	// Refusals cleans the reasons of refused writes.
	Refusals request.Refusals
	// Warn is called with one-line messages for the user; may be nil.
	Warn func(string)
}

// Written is a stored or refused write and where to watch its object.
type Written struct {
	// Upstream is the name of the write's cluster and user; see Proxy.REST.
	Upstream string
	Resource schema.GroupVersionResource
	// Namespace is empty for a cluster-scoped resource.
	Namespace string
	// Since is a resourceVersion before the write; a watch from there sees it. 0 means unknown.
	Since uint64
	Write *observation.Write
}

// Proxy is a running proxy. Its methods are safe for concurrent use.
type Proxy struct {
	opts     Options
	secret   string
	ca       *authority
	outer    *http.Server
	inner    *http.Server
	listener net.Listener
	tunnels  *tunnels
	reverse  *httputil.ReverseProxy
	mirror   *mirror
	kinds    *request.Kinds

	upstreams upstreams
	requests  atomic.Int64
	writes    atomic.Int64
	unchanged atomic.Int64
	servers   sync.WaitGroup

	saidUnreachable sync.Once

	// closed ends when the proxy closes.
	closed  context.Context
	close   context.CancelFunc
	mu      sync.Mutex
	closing bool
	// writing is the number of writes in progress. idle is closed when there are none.
	writing  int
	idle     chan struct{}
	handlers sync.WaitGroup
}

// Start listens on a free port of 127.0.0.1 and serves until Close.
func Start(opts Options) (*Proxy, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Warn == nil {
		opts.Warn = func(string) {}
	}
	ca, err := newAuthority(opts.Now())
	if err != nil {
		return nil, fmt.Errorf("cannot make the proxy's certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("cannot listen on loopback for the proxy: %w", err)
	}
	p := &Proxy{
		opts: opts, secret: newSecret(), ca: ca, listener: listener,
		tunnels: newTunnels(listener.Addr()), kinds: request.NewKinds(),
	}
	p.mirror, err = newMirror(opts.Kubeconfig, listener.Addr().String(), p.secret, ca.pem)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	p.upstreams.source = opts.Kubeconfig
	p.closed, p.close = context.WithCancel(context.Background())
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      roundTripper(p.roundTrip),
		FlushInterval:  -1,
		ModifyResponse: p.answered,
		ErrorHandler:   p.failed,
		ErrorLog:       log.New(io.Discard, "", 0),
	}
	p.serve()
	return p, nil
}

// serve starts the two servers. The outer one handles CONNECT, the inner one the requests in the
// tunnels.
func (p *Proxy) serve() {
	quiet := log.New(io.Discard, "", 0)
	// No ReadHeaderTimeout: only the command has the proxy's secret, and it may keep idle
	// connections.
	p.outer = &http.Server{Handler: http.HandlerFunc(p.connect), ErrorLog: quiet} //nolint:gosec // see above
	p.inner = &http.Server{                                                       //nolint:gosec // see above
		Handler:     http.HandlerFunc(p.handle),
		ErrorLog:    quiet,
		TLSConfig:   p.ca.config(),
		ConnContext: withTunnel,
	}
	p.servers.Go(func() { _ = p.outer.Serve(p.listener) })
	p.servers.Go(func() { _ = p.inner.ServeTLS(p.tunnels, "", "") })
}

// WriteKubeconfig writes the temporary kubeconfig, readable only by its owner.
func (p *Proxy) WriteKubeconfig(path string) error { return p.mirror.write(path) }

// Requests returns the number of requests so far.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// Writes returns the number of recorded writes, stored or failed.
func (p *Proxy) Writes() int64 { return p.writes.Load() }

// Unchanged returns the number of successful writes that stored nothing because they changed
// nothing.
func (p *Proxy) Unchanged() int64 { return p.unchanged.Load() }

// Close closes all connections and waits for all goroutines of the proxy.
func (p *Proxy) Close() error {
	err := errors.Join(p.outer.Close(), p.inner.Close())
	p.mu.Lock()
	p.closing = true
	p.mu.Unlock()
	p.close()
	p.tunnels.closeAll()
	p.servers.Wait()
	p.handlers.Wait()
	p.upstreams.close()
	return err
}

// enter registers a running handler. It returns false if the proxy is closing.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closing {
		p.handlers.Add(1)
	}
	return !p.closing
}

// beginWrite registers a write in progress; the caller calls end after it.
func (p *Proxy) beginWrite() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.writing == 0 {
		p.idle = make(chan struct{})
	}
	p.writing++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.writing--; p.writing == 0 {
			close(p.idle)
		}
	}
}

// Quiesce waits until no write is in progress or ctx ends. A command may end before it has read the
// responses to its writes.
func (p *Proxy) Quiesce(ctx context.Context) {
	p.mu.Lock()
	idle := p.idle
	p.mu.Unlock()
	if idle == nil {
		return
	}
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

// newSecret returns 256 random bits as text.
func newSecret() string {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(raw[:])
}

type contextKey int

const (
	keyTunnel contextKey = iota
	keyExchange
)

func withTunnel(ctx context.Context, conn net.Conn) context.Context {
	if t := tunnelOf(conn); t != nil {
		return context.WithValue(ctx, keyTunnel, t)
	}
	return ctx
}
