// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

const (
	firstPause, maxPause = 500 * time.Millisecond, 10 * time.Second
	// askTimeout bounds one request to the API server.
	askTimeout = 10 * time.Second
)

// again calls f until it succeeds or ctx ends, with growing pauses. It logs each new error once.
func again(ctx context.Context, log *slog.Logger, what string, f func(context.Context) error) error {
	pause, logged := pauses{firstPause, maxPause}, ""
	for {
		err := f(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if text := err.Error(); text != logged {
			log.Warn("cannot "+what+" yet; trying again", errAttr(err))
			logged = text
		}
		if !pause.wait(ctx) {
			return err
		}
	}
}

// connector connects to the cluster.
type connector struct {
	// reach returns the connection; nil without a cluster.
	reach   func() (*rest.Config, error)
	version string
	// fallback is the namespace of a server outside of a cluster.
	fallback string
	log      *slog.Logger
}

// identify waits for the identity of the cluster: the store of one cluster must never get another's
// data.
func (c *connector) identify(ctx context.Context) (conf *rest.Config, cluster string, err error) {
	err = again(ctx, c.log, "ask the API server which cluster it is", func(ctx context.Context) error {
		var err error
		if conf, err = c.connect(); err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, askTimeout)
		defer cancel()
		cluster, err = watch.Identity(ctx, conf)
		return err
	})
	return conf, cluster, err
}

// connect returns the connection.
func (c *connector) connect() (*rest.Config, error) {
	conf, err := c.reach()
	if err != nil {
		return nil, err
	}
	conf = rest.CopyConfig(conf)
	conf.UserAgent = "lifeline-serve/" + c.version
	return conf, nil
}

// podNamespace is the file with a Pod's namespace.
const podNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// namespace returns the server's own namespace.
func (c *connector) namespace() string {
	if data, err := os.ReadFile(podNamespace); err == nil {
		return strings.TrimSpace(string(data))
	}
	return cmp.Or(c.fallback, "default")
}
