// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"github.com/kube-lifeline/lifeline/app/internal/source/apiproto"
)

// link is the connection to one API server, with the clients that share it.
type link struct {
	conf     *rest.Config
	client   *http.Client
	dialer   *connrotation.Dialer
	dynamic  dynamic.Interface
	metadata metadata.Interface
	// binary is dynamic for kinds that package apiproto knows. It accepts protobuf and JSON.
	binary dynamic.Interface
	// credentials is the fingerprint of the credentials.
	credentials [sha256.Size]byte
}

// dialTimeout bounds the setup of one connection.
const dialTimeout = 10 * time.Second

// dial prepares a link, which connects on first use. A nil requests disables counting.
func dial(cfg *rest.Config, requests *atomic.Uint64) (*link, error) {
	l := &link{conf: rest.CopyConfig(cfg)}
	// Certificates are read here, not by client-go, which would check them every five minutes in a
	// goroutine that never ends. renew reads them when needed.
	err := rest.LoadTLSFiles(l.conf)
	if err != nil {
		return nil, fmt.Errorf("cannot read the certificates for %s: %w", cfg.Host, err)
	}
	l.conf.CAFile, l.conf.CertFile, l.conf.KeyFile = "", "", ""
	if l.credentials, err = fingerprint(l.conf); err != nil {
		return nil, err
	}
	if requests != nil {
		l.conf.Wrap(func(next http.RoundTripper) http.RoundTripper { return &counted{next, requests} })
	}
	l.conf.QPS = -1
	l.conf.RateLimiter = nil
	l.conf.WarningHandler = rest.NoWarnings{}
	l.conf.Timeout = 0 // it would end every watch
	if l.conf.Dial == nil {
		l.conf.Dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext
	}
	l.dialer = connrotation.NewDialer(l.conf.Dial)
	l.conf.Dial = l.dialer.DialContext
	if l.client, err = rest.HTTPClientFor(l.conf); err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", cfg.Host, err)
	}
	if l.dynamic, err = dynamic.NewForConfigAndClient(l.conf, l.client); err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", cfg.Host, err)
	}
	if l.binary, err = binaryClient(l.conf, l.client); err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", cfg.Host, err)
	}
	if l.metadata, err = metadata.NewForConfigAndClient(l.conf, l.client); err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", cfg.Host, err)
	}
	return l, nil
}

// binaryClient returns a dynamic client that accepts protobuf and JSON.
func binaryClient(cfg *rest.Config, over *http.Client) (dynamic.Interface, error) {
	cfg = dynamic.ConfigFor(cfg)
	cfg.AcceptContentTypes = apiproto.Accept
	cfg.NegotiatedSerializer = apiproto.Serializer{}
	cfg.GroupVersion, cfg.APIPath = nil, "/" // each request has its own
	client, err := rest.UnversionedRESTClientForConfigAndClient(cfg, over)
	if err != nil {
		return nil, err
	}
	return dynamic.New(client), nil
}

// hangUp closes all connections.
func (l *link) hangUp() { l.dialer.CloseAll() }
