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
)

// link is the connection to one API server, with the clients that share it.
type link struct {
	conf     *rest.Config
	client   *http.Client
	dialer   *connrotation.Dialer
	dynamic  dynamic.Interface
	metadata metadata.Interface
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
	if l.metadata, err = metadata.NewForConfigAndClient(l.conf, l.client); err != nil {
		return nil, fmt.Errorf("cannot connect to %s: %w", cfg.Host, err)
	}
	return l, nil
}

// hangUp closes all connections.
func (l *link) hangUp() { l.dialer.CloseAll() }
