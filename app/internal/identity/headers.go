// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// The headers in which the API server sends its caller, by default, and always those of `lifeline discovery`.
const (
	UserHeader  = "X-Remote-User"
	UIDHeader   = "X-Remote-Uid"
	GroupHeader = "X-Remote-Group"
	ExtraHeader = "X-Remote-Extra-"
)

// remote are these headers.
var remote = headers{[]string{UserHeader}, []string{UIDHeader}, []string{GroupHeader}, []string{ExtraHeader}}

// Clear deletes the headers of the API server from a request.
func Clear(h http.Header) { remote.clear(h) }

// headers are the names of headers.
type headers struct{ user, uid, groups, extra []string }

func (n headers) clear(h http.Header) {
	static := func(names []string) headerrequest.StringSliceProvider { return headerrequest.StaticStringSlice(names) }
	headerrequest.ClearAuthenticationHeaders(h, static(n.user), static(n.uid), static(n.groups), static(n.extra))
}

// Authority has the certificate authorities of a door; they may change.
type Authority interface {
	// VerifyOptions returns false while there is no authority.
	VerifyOptions() (x509.VerifyOptions, bool)
	// Run follows the authorities until ctx ends.
	Run(ctx context.Context)
}

// File returns the authority of a file in PEM, which is read again after a change.
func File(name string) (Authority, error) {
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("clients", name)
	if err != nil {
		return nil, fmt.Errorf("cannot use client CA file %s: %w", name, err)
	}
	return file{ca}, nil
}

type file struct {
	*dynamiccertificates.DynamicFileCAContent
}

func (f file) Run(ctx context.Context) { f.DynamicFileCAContent.Run(ctx, 1) }

// Pool returns the authority with the certificates of a function, which may be nil for none.
func Pool(trusted func() *x509.CertPool) Authority { return pool(trusted) }

type pool func() *x509.CertPool

func (p pool) VerifyOptions() (x509.VerifyOptions, bool) {
	o := x509request.DefaultVerifyOptions()
	o.Roots = p()
	return o, o.Roots != nil
}

func (pool) Run(ctx context.Context) { <-ctx.Done() }

// proxy is a door by headers, under a client certificate of the proxy.
type proxy struct {
	ca      Authority
	request authenticator.Request
	names   headers
	// convert changes the caller; nil means that the headers are the API server's.
	convert func(*user.DefaultInfo) (user.Info, error)
}

// Discovery returns the door of `lifeline discovery`, which has checked the API server's own certificate. An
// empty list of names permits each certificate of the authority.
func Discovery(ca Authority, names []string) Door {
	return newProxy(ca, names, remote, nil)
}

// Proxy returns the door of an authenticating proxy. Its certificate must have one of the names. Groups may be
// separated by commas.
func Proxy(ca Authority, names, userHeaders, groupHeaders []string) (Door, error) {
	if len(names) == 0 {
		return nil, errors.New("cannot trust the headers of a proxy without the name in its certificate")
	}
	return newProxy(ca, names, headers{user: userHeaders, groups: groupHeaders}, divided), nil
}

func newProxy(ca Authority, names []string, of headers, convert func(*user.DefaultInfo) (user.Info, error)) *proxy {
	static := func(names []string) headerrequest.StringSliceProvider { return headerrequest.StaticStringSlice(names) }
	return &proxy{
		ca: ca, names: of, convert: convert,
		request: headerrequest.NewDynamicVerifyOptionsSecure(ca.VerifyOptions, static(names),
			static(of.user), static(of.uid), static(of.groups), static(of.extra)),
	}
}

// divided returns a user whose groups were separated by commas.
func divided(u *user.DefaultInfo) (user.Info, error) {
	var groups []string
	for _, list := range u.Groups {
		for g := range strings.SplitSeq(list, ",") {
			groups = append(groups, strings.TrimSpace(g))
		}
	}
	u.Groups = groups
	return foreign(u)
}

func (p *proxy) Run(ctx context.Context) { p.ca.Run(ctx) }

func (p *proxy) clear(h http.Header) { p.names.clear(h) }

// AuthenticateRequest implements authenticator.Request.
func (p *proxy) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	if err := single(r.Header, p.names.user); err != nil {
		return nil, false, err
	}
	found, ok, err := p.request.AuthenticateRequest(r)
	if err != nil || !ok || p.convert == nil {
		return found, ok, err
	}
	u, err := p.convert(found.User.(*user.DefaultInfo)) //nolint:forcetypeassert // headerrequest makes no other
	if err != nil {
		return nil, false, fmt.Errorf("the user of the proxy: %w", err)
	}
	return &authenticator.Response{User: u}, true, nil
}

// single refuses two values of one header: the first may be the client's own, to which a proxy has added.
func single(h http.Header, names []string) error {
	for _, name := range names {
		if len(h.Values(name)) > 1 {
			return fmt.Errorf("the header %s has several values", name)
		}
	}
	return nil
}

// Certificates returns the door of callers with a client certificate: its common name is the user, and its
// organizations are the groups, as for the API server.
func Certificates(ca Authority) Door {
	return &certificates{ca, x509request.NewDynamic(ca.VerifyOptions, x509request.CommonNameUserConversion)}
}

type certificates struct {
	ca      Authority
	request authenticator.Request
}

func (c *certificates) Run(ctx context.Context) { c.ca.Run(ctx) }

func (c *certificates) clear(http.Header) {}

// AuthenticateRequest implements authenticator.Request.
func (c *certificates) AuthenticateRequest(r *http.Request) (*authenticator.Response, bool, error) {
	found, ok, err := c.request.AuthenticateRequest(r)
	if err != nil || !ok {
		return nil, false, err
	}
	u := *found.User.(*user.DefaultInfo) //nolint:forcetypeassert // the conversion makes no other
	u.Groups = append(append([]string{}, u.Groups...), user.AllAuthenticated)
	return &authenticator.Response{User: &u}, true, nil
}
