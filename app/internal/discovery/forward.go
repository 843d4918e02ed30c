// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/transport"

	"github.com/kube-lifeline/lifeline/app/internal/identity"
	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
)

const (
	// connectTime bounds the connection to the server, and answerTime the wait for the begin of its answer, which is
	// longer than the server's own limit. The API server ends a request after a minute.
	connectTime = 3 * time.Second
	answerTime  = 50 * time.Second
	// retryAfter is the pause in the answer without a server. It stands in the Status alone: with a header, kubectl
	// would retry ten times before it shows the message.
	retryAfter = 5 * time.Second
)

// credentials are the certificate of this process, and the certificates that it trusts.
type credentials interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Trusted() *x509.CertPool
}

// forwarder hands requests on to the server.
type forwarder struct {
	proxy *httputil.ReverseProxy
	// namespace is that of the server, for messages.
	namespace string
	log       *slog.Logger
	now       func() time.Time

	mu sync.Mutex
	// away is the time of the first request without an answer since the last answer; zero after an answer.
	away time.Time
}

func newForwarder(
	server *url.URL, name, namespace string, with credentials, now func() time.Time, log *slog.Logger,
) *forwarder {
	f := &forwarder{namespace: namespace, log: log, now: now}
	dialer := &net.Dialer{Timeout: connectTime}
	f.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			r.Out.Host = name
		},
		Transport: &http.Transport{
			// Each connection has the certificates of its time.
			DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dialer.DialContext(ctx, network, address)
				if err != nil {
					return nil, err
				}
				over := tls.Client(conn, &tls.Config{
					MinVersion: tls.VersionTLS12, ServerName: name, RootCAs: with.Trusted(),
					GetClientCertificate: func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
						return with.GetCertificate(nil)
					},
				})
				ctx, cancel := context.WithTimeout(ctx, connectTime)
				defer cancel()
				if err := over.HandshakeContext(ctx); err != nil {
					_ = conn.Close()
					return nil, err
				}
				return over, nil
			},
			ResponseHeaderTimeout: answerTime, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
		},
		FlushInterval:  -1, // streams
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		ModifyResponse: func(*http.Response) error { f.answered(); return nil },
		ErrorHandler:   f.failed,
	}
	return f
}

// serve hands a request on for a caller. No header of the client's side about a caller goes on.
func (f *forwarder) serve(w http.ResponseWriter, r *http.Request, caller user.Info) {
	out := r.Clone(r.Context())
	for name := range out.Header {
		if strings.HasPrefix(strings.ToLower(name), "x-") { // those of the front proxy have any name
			out.Header.Del(name)
		}
	}
	out.Header.Del("Authorization")
	identity.Clear(out.Header)
	transport.SetAuthProxyHeaders(out, caller.GetName(), caller.GetUID(), caller.GetGroups(), caller.GetExtra())
	f.proxy.ServeHTTP(w, out)
}

func (f *forwarder) answered() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.away.IsZero() {
		f.log.Info("the server answers again")
	}
	f.away = time.Time{}
}

// failed answers without a server.
func (f *forwarder) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		return // the client is gone
	}
	f.mu.Lock()
	if f.away.IsZero() {
		f.away = f.now().UTC()
		f.log.Warn("the server does not answer", "error", err)
	}
	since := f.away
	f.mu.Unlock()
	kubeapi.WriteUnavailable(w, r, retryAfter,
		"the server of Lifeline has not answered since %s; its administrator looks at: "+
			"kubectl -n %s get pod -l app.kubernetes.io/name=lifeline", since.Format(time.RFC3339), f.namespace)
}
