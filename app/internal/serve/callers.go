// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	utilclock "k8s.io/utils/clock"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/identity"
	"github.com/kube-lifeline/lifeline/app/internal/permission"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// byRights reports whether callers see what the cluster lets them see.
func byRights(c *config.APIConfiguration) bool {
	return c.Authorization == config.AuthorizationKubernetes
}

// clientCertificates says whether a listener requests client certificates. A browser would ask its user for one.
func clientCertificates(c *config.APIConfiguration) tls.ClientAuthType {
	if byRights(c) && (c.Authentication.ClientCAFile != "" || c.Authentication.Proxy.ClientCAFile != "") {
		return tls.RequestClientCert
	}
	return tls.NoClientCert
}

// newCallers returns who the callers of api.address are.
func newCallers(c *config.APIConfiguration, client kubernetes.Interface) (*identity.Authenticator, error) {
	a, o := c.Authentication, identity.Options{}
	if p := a.Proxy; p.ClientCAFile != "" {
		ca, err := identity.File(p.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("%w (api.authentication.proxy.clientCAFile)", err)
		}
		door, err := identity.Proxy(ca, p.AllowedNames, p.UserHeaders, p.GroupHeaders)
		if err != nil {
			return nil, fmt.Errorf("%w (api.authentication.proxy.allowedNames)", err)
		}
		o.Doors = append(o.Doors, door)
	}
	if a.ClientCAFile != "" {
		ca, err := identity.File(a.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("%w (api.authentication.clientCAFile)", err)
		}
		o.Doors = append(o.Doors, identity.Certificates(ca))
	}
	var kinds []identity.Kind
	for _, i := range a.OIDC {
		kinds = append(kinds, identity.IDTokens(identity.Issuer{
			URL: i.Issuer, ClientID: i.ClientID, CAFile: i.CAFile,
			UsernameClaim: i.UsernameClaim, UsernamePrefix: i.UsernamePrefix,
			GroupsClaim: i.GroupsClaim, GroupsPrefix: i.GroupsPrefix,
		}, time.Now))
	}
	if audiences := a.ServiceAccounts.Audiences; len(audiences) > 0 {
		kinds = append(kinds, identity.ServiceAccounts(client.AuthenticationV1().TokenReviews(), audiences))
	}
	if len(kinds) > 0 {
		o.Tokens = identity.NewTokens(utilclock.RealClock{}, kinds...)
	}
	return identity.New(o), nil
}

// certified are the certificates of a listener, and the authorities of its clients.
type certified interface {
	GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error)
	Trusted() *x509.CertPool
}

// newAggregated returns who the callers of api.aggregation are, and where it listens. Without TLS files, the
// certificates are those of a Secret.
func newAggregated(
	c config.AggregationConfiguration, client kubernetes.Interface, secret certified,
) (*identity.Authenticator, httpserve.Endpoint, error) {
	at := httpserve.Endpoint{Address: c.Address, ClientCertificates: tls.RequestClientCert}
	var o identity.Options
	switch {
	case secret != nil:
		at.Certificate = secret.GetCertificate
		o.Doors = append(o.Doors, identity.Discovery(identity.Pool(secret.Trusted), c.AllowedNames))
	default:
		at.TLS = httpserve.TLS{CertFile: c.TLS.CertFile, KeyFile: c.TLS.KeyFile}
		if c.TLS.ClientCAFile != "" {
			ca, err := identity.File(c.TLS.ClientCAFile)
			if err != nil {
				return nil, at, fmt.Errorf("%w (api.aggregation.tls.clientCAFile)", err)
			}
			o.Doors = append(o.Doors, identity.Discovery(ca, c.AllowedNames))
		}
	}
	if c.FrontProxy {
		door, err := identity.NewFrontProxy(client)
		if err != nil {
			return nil, at, err
		}
		o.Doors = append(o.Doors, door)
	}
	return identity.New(o), at, nil
}

// newPermitting returns the access of callers that are known.
func newPermitting(
	gate *store.Gate, conf *rest.Config, namespaces func(context.Context) ([]string, error), s *settings,
) (*permitting, error) {
	review, err := permission.FromCluster(conf)
	if err != nil {
		return nil, err
	}
	return &permitting{
		gate: gate, log: s.log, now: time.Now,
		reviewer: permission.New(permission.Options{Review: review, Namespaces: namespaces}),
		audits:   func() bool { return s.Load().API.Audit },
	}, nil
}

// closing is a handler with the Close of another.
type closing struct {
	http.Handler
	io.Closer
}
