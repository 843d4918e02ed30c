// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// exchange is the state of one request and its response.
type exchange struct {
	up    *upstream
	start time.Time
	call  call
	// body copies the start of a write's request body. It has the name that the response to a
	// failure may lack.
	body *capture
	// parent is the traceparent that identifies the write.
	parent string
	// before is the version of the resource before the request was sent.
	before version
	dryRun bool
	sent   http.Header
	// stop ends the reading of the request's body; nil if that is not needed.
	stop func()
	// detach keeps the response readable after the command has ended. giveUp ends the reading.
	detach func()
	giveUp context.CancelFunc
}

// handle is the inner server's handler.
func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	t, _ := r.Context().Value(keyTunnel).(*tunnel)
	if t == nil {
		refuse(w, http.StatusBadRequest, "not a proxy request")
		return
	}
	p.forward(w, r, t)
}

// handlePlain serves a request with an absolute URL to the outer server.
func (p *Proxy) handlePlain(w http.ResponseWriter, r *http.Request, t *tunnel) {
	if !p.leadsTo(t.cluster, t.target) {
		refuse(w, http.StatusForbidden, "lifeline run does not know server "+t.target)
		return
	}
	p.forward(w, r, t)
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, t *tunnel) {
	if !p.enter() {
		return
	}
	defer p.handlers.Done()
	start := p.opts.Now()
	route, ok := p.authenticate(r, t)
	if !ok {
		refuse(w, http.StatusUnauthorized,
			"this proxy serves one command of lifeline run: its token is missing or wrong")
		return
	}
	p.requests.Add(1)
	up, err := p.upstreams.of(route)
	if err != nil {
		refuse(w, http.StatusBadGateway, err.Error())
		return
	}
	x := &exchange{up: up, start: start, sent: r.Header}
	if body := r.Body; r.ProtoMajor == 2 && body != nil {
		x.stop = func() { _ = body.Close() }
	}
	if path, ok := strings.CutPrefix(r.URL.Path, up.prefix); ok {
		x.call = classify(r.Method, path, r.URL.Query(), r.Header)
	}
	ctx := r.Context()
	if x.call.write {
		defer p.beginWrite()()
		var done context.CancelFunc
		ctx, done = p.outlive(ctx, x)
		defer done()
	}
	r = r.WithContext(context.WithValue(ctx, keyExchange, x))
	if x.call.write {
		p.prepare(x, r)
	}
	p.reverse.ServeHTTP(w, r)
}

// outlive returns the context of a write. Until the response begins, it ends with the command's
// connection. After that the proxy reads the response to its end, even if the command does not.
func (p *Proxy) outlive(parent context.Context, x *exchange) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	gone := context.AfterFunc(parent, cancel)
	closed := context.AfterFunc(p.closed, cancel)
	x.detach = func() { gone() }
	x.giveUp = cancel
	return ctx, func() {
		gone()
		closed()
		cancel()
	}
}

// authenticate removes the one-time token from the request and returns its route. The command's own
// credential (kubectl --token) stays.
//
// Over plain HTTP clients send no token, and the proxy must not send the user's credentials. There
// the secret in the proxy's address, already checked, authenticates the command.
func (p *Proxy) authenticate(r *http.Request, t *tunnel) (route, bool) {
	to := route{cluster: t.cluster, server: p.serverOf(t), anonymous: t.Conn == nil}
	header := r.Header.Get("Authorization")
	token, bearer := strings.CutPrefix(header, "Bearer ")
	if user, ok := p.mirror.userOf(token); bearer && ok {
		to.user = user
		r.Header.Del("Authorization")
		return to, true
	}
	if to.own = header != ""; !to.own && to.anonymous {
		to.user = p.opts.Kubeconfig.user
	}
	return to, to.own || to.anonymous
}

// leadsTo reports whether clients of a cluster may connect to target.
func (p *Proxy) leadsTo(cluster, target string) bool {
	return p.mirror.targets[cluster] == target || p.serverOf(&tunnel{cluster: cluster, target: target}) != ""
}

// serverOf returns the address in Options.Servers for this target; "" if the target is the
// cluster's own.
func (p *Proxy) serverOf(t *tunnel) string {
	if p.mirror.targets[t.cluster] == t.target {
		return ""
	}
	for _, server := range p.opts.Servers {
		if u, err := url.Parse(server); err == nil && canonicalHost(u) == t.target {
			return server
		}
	}
	return ""
}

func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	x := exchangeOf(pr.In)
	pr.Out.URL.Scheme = x.up.target.Scheme
	pr.Out.URL.Host = x.up.target.Host
	pr.Out.Host = ""
	pr.Out.URL.RawQuery = pr.In.URL.RawQuery
}

func (p *Proxy) roundTrip(r *http.Request) (*http.Response, error) {
	x := exchangeOf(r)
	if httpguts.HeaderValuesContainsToken(r.Header["Connection"], "Upgrade") {
		return x.up.upgrade.RoundTrip(r)
	}
	return x.up.plain.RoundTrip(r)
}

// failed responds to a request that got no response from the API server.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r)
	if x.call.write && !x.dryRun {
		p.unanswered(x, err)
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the command has disconnected
	}
	p.saidUnreachable.Do(func() { p.opts.Warn(fmt.Sprintf("cannot reach %s: %v", x.up.target, err)) })
	refuse(w, http.StatusBadGateway, fmt.Sprintf("cannot reach %s: %v", x.up.target, err))
}

func exchangeOf(r *http.Request) *exchange {
	x, _ := r.Context().Value(keyExchange).(*exchange)
	return x
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// refuse writes an error of the proxy itself. It is plain text, which client-go shows for every
// request.
func refuse(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, "lifeline: "+message+"\n") //nolint:gosec // plain text
}
