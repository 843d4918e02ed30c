// SPDX-License-Identifier: Apache-2.0

package pki

import (
	"crypto/tls"
	"crypto/x509"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuthority(t *testing.T) {
	made, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	other, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	server := func(a *Authority) (Pair, error) { return a.Server("s", "127.0.0.1", "localhost") }
	client := func(a *Authority) (Pair, error) { return a.Client("ann", "dev", "ops") }
	cases := map[string]struct {
		reason string
		by     *Authority
		issue  func(*Authority) (Pair, error)
		verify x509.VerifyOptions
		fails  bool
	}{
		"ServerByAddress": {
			reason: "An address is served.",
			by:     made,
			issue:  server,
			verify: x509.VerifyOptions{DNSName: "127.0.0.1"},
		},
		"ServerByName": {
			reason: "A name is served.",
			by:     made,
			issue:  server,
			verify: x509.VerifyOptions{DNSName: "localhost"},
		},
		"ServerElsewhere": {
			reason: "No other name is.",
			by:     made,
			issue:  server,
			verify: x509.VerifyOptions{DNSName: "example.com"},
			fails:  true,
		},
		"Client": {
			reason: "A client's certificate is for clients.", by: made, issue: client,
			verify: x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		},
		"ClientAsServer": {reason: "It cannot play a server.", by: made, issue: client, fails: true},
		"Stranger":       {reason: "The name of an authority is not its key.", by: other, issue: server, fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pair, err := tc.issue(tc.by)
			if err != nil {
				t.Fatal(err)
			}
			tc.verify.Roots = x509.NewCertPool()
			tc.verify.Roots.AppendCertsFromPEM(made.CA())
			if _, err := leaf(t, pair).Verify(tc.verify); (err != nil) != tc.fails {
				t.Errorf("%s\nVerify(): %v, want failure: %t", tc.reason, err, tc.fails)
			}
		})
	}
}

func TestClientSubject(t *testing.T) {
	a, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := a.Client("ann", "dev", "ops")
	if err != nil {
		t.Fatal(err)
	}
	subject := leaf(t, pair).Subject
	if diff := cmp.Diff(
		[]string{"ann", "dev", "ops"},
		append([]string{subject.CommonName}, subject.Organization...),
	); diff != "" {
		t.Errorf("what Kubernetes takes for user and groups: -want +got:\n%s", diff)
	}
}

func leaf(t *testing.T, pair Pair) *x509.Certificate {
	t.Helper()
	loaded, err := tls.X509KeyPair(pair.Cert, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(loaded.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return cert
}
