// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"sync"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
)

// The ConfigMap in which the API server says how it sends callers to other servers.
const (
	configNamespace = "kube-system"
	configName      = "extension-apiserver-authentication"

	frontCA, clientCA      = "requestheader-client-ca-file", "client-ca-file"
	frontUser, frontUID    = "requestheader-username-headers", "requestheader-uid-headers"
	frontGroup, frontExtra = "requestheader-group-headers", "requestheader-extra-headers-prefix"
	frontNames             = "requestheader-allowed-names"
)

// FrontProxy is the door of the API server itself: it sends its caller in headers, under its certificate as a
// front proxy. Certificate authority, names and headers are those of the ConfigMap
// kube-system/extension-apiserver-authentication, and follow it.
type FrontProxy struct {
	ca, clients *dynamiccertificates.ConfigMapCAController
	headers     *headerrequest.RequestHeaderAuthRequestController
	request     authenticator.Request
}

// NewFrontProxy returns the door. It refuses all requests until Run has read the ConfigMap.
func NewFrontProxy(client kubernetes.Interface) (*FrontProxy, error) {
	follow := func(key string) (*dynamiccertificates.ConfigMapCAController, error) {
		return dynamiccertificates.NewDynamicCAFromConfigMapController(
			"lifeline", configNamespace, configName, key, client)
	}
	ca, err := follow(frontCA)
	if err != nil {
		return nil, err
	}
	clients, err := follow(clientCA)
	if err != nil {
		return nil, err
	}
	f := &FrontProxy{
		ca: ca, clients: clients,
		headers: headerrequest.NewRequestHeaderAuthRequestController(configName, configNamespace, client,
			frontUser, frontUID, frontGroup, frontExtra, frontNames),
	}
	names := func(of func() []string) headerrequest.StringSliceProvider {
		return headerrequest.StringSliceProviderFunc(of)
	}
	f.request = headerrequest.NewDynamicVerifyOptionsSecure(f.VerifyOptions, names(f.headers.AllowedClientNames),
		names(f.headers.UsernameHeaders), names(f.headers.UIDHeaders), names(f.headers.GroupHeaders),
		names(f.headers.ExtraHeaderPrefixes))
	return f, nil
}

// Run implements Door.
func (f *FrontProxy) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { f.headers.Run(ctx, 1) })
	all.Go(func() { f.ca.Run(ctx, 1) })
	all.Go(func() { f.clients.Run(ctx, 1) })
	all.Wait()
}

// VerifyOptions returns the authority of the API server's certificate as a front proxy; false before it is
// known.
func (f *FrontProxy) VerifyOptions() (x509.VerifyOptions, bool) { return f.ca.VerifyOptions() }

// errSharedCA is the error of a cluster in which each user's certificate would be a front proxy's.
var errSharedCA = errors.New("the cluster has one certificate authority for its users and for its front proxy, and " +
	"no --requestheader-allowed-names")

// AuthenticateRequest implements authenticator.Request.
func (f *FrontProxy) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
		return nil, false, nil
	}
	if len(f.headers.AllowedClientNames()) == 0 &&
		overlap(f.ca.CurrentCABundleContent(), f.clients.CurrentCABundleContent()) {
		return nil, false, errSharedCA
	}
	if err := single(r.Header, f.headers.UsernameHeaders()); err != nil {
		return nil, false, err
	}
	return f.request.AuthenticateRequest(r)
}

// overlap reports whether two bundles in PEM have an authority in common.
func overlap(a, b []byte) bool {
	ours, _ := cert.ParseCertsPEM(a) // a bundle that cannot be read verifies nothing
	theirs, _ := cert.ParseCertsPEM(b)
	return slices.ContainsFunc(ours, func(c *x509.Certificate) bool { return slices.ContainsFunc(theirs, c.Equal) })
}

func (f *FrontProxy) clear(h http.Header) {
	headers{f.headers.UsernameHeaders(), f.headers.UIDHeaders(), f.headers.GroupHeaders(),
		f.headers.ExtraHeaderPrefixes()}.clear(h)
}
