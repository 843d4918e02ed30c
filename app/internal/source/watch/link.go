// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"net"
	"net/http"
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
}

// dial prepares a link; it connects when it is first used.
func dial(cfg *rest.Config) (*link, error) {
	l := &link{conf: rest.CopyConfig(cfg)}
	l.conf.QPS = -1
	l.conf.RateLimiter = nil
	l.conf.WarningHandler = rest.NoWarnings{}
	l.conf.Timeout = 0 // it would end every watch
	if l.conf.Dial == nil {
		l.conf.Dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	l.dialer = connrotation.NewDialer(l.conf.Dial)
	l.conf.Dial = l.dialer.DialContext
	var err error
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
