// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/subtle"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
)

// tunnel is a client's connection through CONNECT. The client requested target, but the inner
// server handles the connection.
type tunnel struct {
	net.Conn
	// cluster is the cluster's name in the kubeconfig. target is the requested host and port.
	cluster string
	target  string
	owner   *tunnels
}

func (t *tunnel) Close() error {
	t.owner.forget(t)
	return t.Conn.Close()
}

// tunnelOf returns the tunnel below a TLS connection, or nil.
func tunnelOf(conn net.Conn) *tunnel {
	if c, ok := conn.(*tls.Conn); ok {
		conn = c.NetConn()
	}
	t, _ := conn.(*tunnel)
	return t
}

// tunnels is the inner server's listener. It holds every open tunnel, also those that an upgrade
// has hijacked from the server.
type tunnels struct {
	addr   net.Addr
	queue  chan *tunnel
	closed chan struct{}

	once sync.Once
	mu   sync.Mutex
	open map[*tunnel]struct{}
}

func newTunnels(addr net.Addr) *tunnels {
	return &tunnels{addr: addr, queue: make(chan *tunnel), closed: make(chan struct{}), open: map[*tunnel]struct{}{}}
}

// Accept implements net.Listener.
func (t *tunnels) Accept() (net.Conn, error) {
	select {
	case conn := <-t.queue:
		return conn, nil
	case <-t.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (t *tunnels) Close() error {
	t.once.Do(func() { close(t.closed) })
	return nil
}

// Addr implements net.Listener.
func (t *tunnels) Addr() net.Addr { return t.addr }

func (t *tunnels) hand(conn *tunnel) {
	t.mu.Lock()
	t.open[conn] = struct{}{}
	t.mu.Unlock()
	select {
	case t.queue <- conn:
	case <-t.closed:
		_ = conn.Close()
	}
}

func (t *tunnels) forget(conn *tunnel) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, conn)
}

func (t *tunnels) closeAll() {
	_ = t.Close()
	t.mu.Lock()
	open := make([]*tunnel, 0, len(t.open))
	for conn := range t.open {
		open = append(open, conn)
	}
	t.mu.Unlock()
	for _, conn := range open {
		_ = conn.Close()
	}
}

// connect is the outer server's handler. CONNECT opens a tunnel. A request with an absolute URL, to
// a server with plain HTTP, is handled directly.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	cluster, ok := p.knock(r.Header.Get("Proxy-Authorization"))
	if !ok {
		w.Header().Set("Proxy-Authenticate", `Basic realm="lifeline run"`)
		http.Error(w, "this proxy serves one command of lifeline run", http.StatusProxyAuthRequired)
		return
	}
	r.Header.Del("Proxy-Authorization")
	target := r.Host
	if r.Method != http.MethodConnect {
		if !r.URL.IsAbs() {
			http.Error(w, "not a proxy request", http.StatusBadRequest)
			return
		}
		p.handlePlain(w, r, &tunnel{cluster: cluster, target: canonicalHost(r.URL)})
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if !p.leadsTo(cluster, target) {
		p.opts.Warn(
			fmt.Sprintf("refused a connection of the command to %s: cluster %q in its kubeconfig has another server",
				target, cluster),
		)
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 403 lifeline run does not know server %s\r\nContent-Length: 0\r\n\r\n",
			target)
		_ = conn.Close()
		return
	}
	if _, err := conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil ||
		buffered.Reader.Buffered() > 0 {
		_ = conn.Close() // a valid client waits for the response before it sends more
		return
	}
	p.tunnels.hand(&tunnel{Conn: conn, cluster: cluster, target: target, owner: p.tunnels})
}

// knock checks the one-time secret. It returns the cluster for the user name in the proxy-url.
func (p *Proxy) knock(header string) (cluster string, ok bool) {
	encoded, found := strings.CutPrefix(header, "Basic ")
	if !found {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return "", false
	}
	name, secret, _ := strings.Cut(string(raw), ":")
	if subtle.ConstantTimeCompare([]byte(secret), []byte(p.secret)) != 1 {
		return "", false
	}
	return p.mirror.clusterOf(name)
}
