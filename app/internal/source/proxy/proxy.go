// SPDX-License-Identifier: Apache-2.0

// Package proxy stands between a command and its clusters: it gives the command
// a temporary kubeconfig that leads through a proxy on loopback, lets every
// request pass unchanged, and observes each write exactly, with its time, its
// answer and what was stored by it.
//
// The user's own credentials stay in the proxy. What a write caused is not its
// business: that is for package lifecycle, and following it for source/watch.
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

// Options are what a Proxy needs. Kubeconfig, Trace and Emit are required.
type Options struct {
	// Kubeconfig is the user's configuration that the proxy mirrors.
	Kubeconfig *Kubeconfig
	// Trace is the trace that writes belong to, with the run's span.
	Trace trace.SpanContext
	// Servers are further API servers that the command names itself
	// (kubectl --server): they are reached with the credentials of its context.
	Servers []string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Emit takes each write; it is called from several goroutines and before
	// the command sees the end of the answer.
	Emit func(*observation.Observation)
	// Wrote is told of each write that was stored, after Emit; may be nil.
	Wrote func(Written)
	// Warn takes one-line messages for the user; may be nil.
	Warn func(string)
}

// Written is a write that was stored, and where to follow it.
type Written struct {
	// Upstream names the cluster and user that it went through; see
	// Proxy.REST.
	Upstream string
	Resource schema.GroupVersionResource
	// Namespace is empty for a resource of cluster scope.
	Namespace string
	// Since is a resourceVersion before the write: a watch from there sees
	// it. 0 if not known.
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

	// closed is done once the proxy closes.
	closed  context.Context
	close   context.CancelFunc
	mu      sync.Mutex
	closing bool
	// writing are the writes that are under way; idle is closed when there
	// are none any more.
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

// serve starts the two servers: the outer one takes CONNECT, the inner one what
// comes through the tunnels.
func (p *Proxy) serve() {
	quiet := log.New(io.Discard, "", 0)
	// No ReadHeaderTimeout: the command alone knows the way here, and it may
	// keep connections ready for later.
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

// WriteKubeconfig writes the temporary kubeconfig, readable by its owner only.
func (p *Proxy) WriteKubeconfig(path string) error { return p.mirror.write(path) }

// Requests is the number of requests that came through so far.
func (p *Proxy) Requests() int64 { return p.requests.Load() }

// Writes is the number of writes that the API servers stored or refused.
func (p *Proxy) Writes() int64 { return p.writes.Load() }

// Unchanged is the number of writes that were answered well and stored nothing,
// because they changed nothing.
func (p *Proxy) Unchanged() int64 { return p.unchanged.Load() }

// Close ends every connection and waits for what the proxy has started.
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

// enter counts a handler in, unless the proxy is closing.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closing {
		p.handlers.Add(1)
	}
	return !p.closing
}

// beginWrite counts a write in; the function that it returns counts it out.
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

// Quiesce waits until no write is under way, or ctx is done. A command may end
// without having read the answers to what it wrote.
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

// newSecret gives 256 random bits as text.
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
