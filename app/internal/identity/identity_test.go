// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiserver/pkg/authentication/user"
)

// authority signs client certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a := &authority{key: key}
	a.cert = a.sign(t, pkix.Name{CommonName: "authority"}, true)
	return a
}

func (a *authority) sign(t *testing.T, subject pkix.Name, ca bool, uses ...x509.ExtKeyUsage) *x509.Certificate {
	t.Helper()
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: subject, IsCA: ca, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), ExtKeyUsage: uses,
	}
	parent := a.cert
	if ca {
		parent = of
	}
	der, err := x509.CreateCertificate(rand.Reader, of, parent, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

// client returns a certificate of a client.
func (a *authority) client(t *testing.T, name string, groups ...string) *x509.Certificate {
	t.Helper()
	return a.sign(t, pkix.Name{CommonName: name, Organization: groups}, false, x509.ExtKeyUsageClientAuth)
}

func (a *authority) authority() Authority {
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return Pool(func() *x509.CertPool { return roots })
}

// send returns the caller of a request, and the request behind Wrap.
func send(
	t *testing.T, a *Authenticator, cert *x509.Certificate, header http.Header,
) (user.Info, *http.Request, error) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/traces", nil)
	if cert != nil {
		r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert}}
	}
	for name, values := range header {
		r.Header[name] = append([]string{}, values...)
	}
	var behind *http.Request
	a.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { behind = r })).
		ServeHTTP(httptest.NewRecorder(), r)
	u, err := Of(behind)
	return u, behind, err
}

func TestDoors(t *testing.T) {
	discovery, people, proxies, other := newAuthority(t), newAuthority(t), newAuthority(t), newAuthority(t)
	proxy, err := Proxy(proxies.authority(), []string{"oauth2-proxy"}, []string{"X-Forwarded-User", "X-Auth-User"},
		[]string{"X-Forwarded-Groups"})
	if err != nil {
		t.Fatal(err)
	}
	behindAPIServer := New(Options{Doors: []Door{Discovery(discovery.authority(), []string{"lifeline API"})}})
	direct := New(Options{Doors: []Door{proxy, Certificates(people.authority())}})
	remote := http.Header{
		"X-Remote-User": {"ana"}, "X-Remote-Group": {"dev", "system:authenticated"}, "X-Remote-Uid": {"7"},
		"X-Remote-Extra-Scopes": {"all"},
	}
	forwarded := http.Header{"X-Forwarded-User": {"ana"}, "X-Forwarded-Groups": {"dev, ops", "qa"}}
	ana := &user.DefaultInfo{
		Name: "ana", UID: "7", Groups: []string{"dev", "system:authenticated"},
		Extra: map[string][]string{"scopes": {"all"}},
	}
	cases := map[string]struct {
		reason string
		at     *Authenticator
		cert   *x509.Certificate
		header http.Header
		want   *user.DefaultInfo
		err    string
	}{
		"API server":     {"door 1", behindAPIServer, discovery.client(t, "lifeline API"), remote, ana, ""},
		"no certificate": {"forged, from loopback", behindAPIServer, nil, remote, nil, "must know who you are"},
		"wrong authority": {
			"forged", behindAPIServer, other.client(t, "lifeline API"), remote, nil, "unknown authority",
		},
		"wrong name": {
			"a certificate for another purpose", behindAPIServer, discovery.client(t, "web"), remote, nil,
			"cn=web is not in the allowed list",
		},
		"server's": {
			"no client's certificate", behindAPIServer,
			discovery.sign(t, pkix.Name{CommonName: "lifeline API"}, false, x509.ExtKeyUsageServerAuth), remote, nil,
			"incompatible key usage",
		},
		"no user": {
			"", behindAPIServer, discovery.client(t, "lifeline API"), nil, nil, "must know who you are",
		},
		"two users": {
			"a proxy may have added its own", behindAPIServer, discovery.client(t, "lifeline API"),
			http.Header{"X-Remote-User": {"root", "ana"}}, nil, "X-Remote-User has several values",
		},
		"another listener": {
			"the headers of door 1 do not count there", direct, people.client(t, "ben", "dev"), remote,
			&user.DefaultInfo{Name: "ben", Groups: []string{"dev", "system:authenticated"}}, "",
		},
		"certificate": {
			"door 2", direct, people.client(t, "kube-admin", "system:masters"), nil,
			&user.DefaultInfo{Name: "kube-admin", Groups: []string{"system:masters", "system:authenticated"}}, "",
		},
		"another certificate": {
			"", direct, other.client(t, "kube-admin"), nil, nil, "the client certificate is not accepted: x509: ",
		},
		"proxy": {
			"door 3", direct, proxies.client(t, "oauth2-proxy"), forwarded,
			&user.DefaultInfo{Name: "ana", Groups: []string{"dev", "ops", "qa", "system:authenticated"}}, "",
		},
		"forged proxy": {
			"", direct, people.client(t, "ben"), forwarded,
			&user.DefaultInfo{Name: "ben", Groups: []string{"system:authenticated"}}, "",
		},
		"forged without": {"", direct, nil, forwarded, nil, "must know who you are"},
		"proxy's other name": {
			"", direct, proxies.client(t, "grafana"), forwarded, nil, "cn=grafana is not in the allowed list",
		},
		"proxy as the cluster": {
			"", direct, proxies.client(t, "oauth2-proxy"), http.Header{"X-Forwarded-User": {"system:admin"}}, nil,
			`the user of the proxy: a name that begins with "system:" is the cluster's own`,
		},
		"proxy's groups": {
			"groups of the cluster are left out", direct, proxies.client(t, "oauth2-proxy"),
			http.Header{"X-Auth-User": {"ana"}, "X-Forwarded-Groups": {"system:masters,dev"}},
			&user.DefaultInfo{Name: "ana", Groups: []string{"dev", "system:authenticated"}}, "",
		},
		"unknown scheme": {
			"", direct, nil, http.Header{"Authorization": {"Basic YTpi"}}, nil, "no \"Basic\" credentials",
		},
		"no tokens": {"", direct, nil, http.Header{"Authorization": {"Bearer abc"}}, nil, "no \"Bearer\" credentials"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			got, behind, err := send(t, tc.at, tc.cert, tc.header)
			for header := range behind.Header {
				if strings.HasPrefix(header, "X-Remote") || header == "Authorization" ||
					tc.at == direct && strings.HasPrefix(header, "X-Forwarded") {
					t.Errorf("%s is behind the door", header)
				}
			}
			if tc.want == nil {
				var refusal *RefusedError
				if !errors.As(err, &refusal) || refusal.Status() != http.StatusUnauthorized ||
					!strings.Contains(err.Error(), tc.err) || got != nil {
					t.Errorf("got %v, %v, want 401 and %q", got, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := *tc.want
			found := *got.(*user.DefaultInfo)
			if tc.want.Extra == nil {
				found.Extra = nil
			}
			if diff := cmp.Diff(want, found); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestUnwrapped: a request that has not come through Wrap has no caller.
func TestUnwrapped(t *testing.T) {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, "/", nil)
	r.Header.Set("X-Remote-User", "ana")
	if u, err := Of(r); err == nil {
		t.Errorf("got %v", u)
	}
}

func TestProxyNeedsNames(t *testing.T) {
	if _, err := Proxy(newAuthority(t).authority(), nil, []string{"X-User"}, nil); err == nil {
		t.Error("got no error")
	}
}
