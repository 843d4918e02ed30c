// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
)

// loginPatience bounds the first request of a kubeconfig with a credential plugin.
const loginPatience = 2 * time.Minute

// absentError means that there is no server to use. why is the reason for leaving out the one in the cluster; nil if
// there is none.
type absentError struct{ why error }

// Error implements error.
func (e *absentError) Error() string {
	if e.why != nil {
		return e.why.Error()
	}
	return "there is no server: start one with \"lifeline ui\", install one in the cluster with \"lifeline " +
		"install\", or name one with --server or " + EnvServer
}

// Unwrap returns the reason.
func (e *absentError) Unwrap() error { return e.why }

// clusterServer connects to the server in the kubeconfig's cluster, through its API server. Without one it returns an
// absentError.
func clusterServer(ctx context.Context, o *Options) (*Session, error) {
	if o.Kubeconfig == nil {
		return nil, &absentError{}
	}
	c, err := through(o)
	if err != nil {
		return nil, &absentError{err}
	}
	patience := askPatience
	if o.Kubeconfig.Current().ExecProvider != nil { // the user may have to log in
		patience = loginPatience
	}
	offered, err := offers(ctx, c, patience)
	if err != nil || !offered {
		c.Close()
		return nil, &absentError{err}
	}
	found, err := describe(ctx, o, c, askPatience)
	if err != nil {
		return nil, &absentError{withNextStep(o, err)}
	}
	sayBounds(o, found)
	return found, nil
}

// offers reports whether the cluster of a client has the API of a server, in time.
func offers(ctx context.Context, c *client.Client, patience time.Duration) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.Offered(ctx)
}

// withNextStep adds the way to a right to the refusal of a server.
func withNextStep(o *Options, err error) error {
	var answer *api.Error
	if !errors.As(err, &answer) || answer.Code != http.StatusForbidden || client.FromAPIServer(err) {
		return err
	}
	return &api.Error{Code: answer.Code, Message: fmt.Sprintf("%s: ask the cluster's admin for view in namespace %s",
		answer.Message, o.Kubeconfig.Namespace())}
}

// through returns a client of the server in the kubeconfig's cluster. The credentials go to the API server only.
func through(o *Options) (*client.Client, error) {
	config := rest.CopyConfig(o.Kubeconfig.Current())
	config.UserAgent = o.UserAgent()
	return client.Through(config)
}

// listens reports whether a program accepts connections at the address of a URL on this machine.
func listens(server string) bool {
	at, err := url.Parse(server)
	if err != nil {
		return false
	}
	conn, err := (&net.Dialer{Timeout: probePatience}).DialContext(context.Background(), "tcp", at.Host)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}
