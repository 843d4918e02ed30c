// SPDX-License-Identifier: Apache-2.0

// Package httpservetest makes certificates for tests with listeners of package httpserve.
package httpservetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
)

// Authority signs certificates of clients and of servers on 127.0.0.1.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New returns an Authority with a new key.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{key: newKey(t)}
	a.cert = a.sign(t, 1, a.key, true, time.Now().Add(time.Hour))
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return key
}

func (a *Authority) sign(
	t testing.TB, serial int64, key *ecdsa.PrivateKey, ca bool, until time.Time,
) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, IsCA: ca, BasicConstraintsValid: true,
		NotBefore: until.Add(-2 * time.Hour), NotAfter: until, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent := a.cert
	if ca {
		parent = template
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return cert
}

// PEM returns the authority's certificate.
func (a *Authority) PEM() []byte { return inPEM(a.cert) }

func inPEM(cert *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})
}

// Pair returns a certificate with the given serial number, and its key, in PEM. It is valid now.
func (a *Authority) Pair(t testing.TB, serial int64) (cert, key []byte) {
	t.Helper()
	return a.PairUntil(t, serial, time.Now().Add(time.Hour))
}

// PairUntil is like Pair, but the certificate is valid for the two hours before until.
func (a *Authority) PairUntil(t testing.TB, serial int64, until time.Time) (cert, key []byte) {
	t.Helper()
	k := newKey(t)
	raw, err := x509.MarshalPKCS8PrivateKey(k)
	must(t, err)
	return inPEM(a.sign(t, serial, k, false, until)), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// Trusting returns the configuration of a client without a certificate. It trusts servers of a.
func (a *Authority) Trusting() *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

// Client returns the configuration of a client with a certificate of a. It trusts servers of the
// other authority.
func (a *Authority) Client(t testing.TB, server *Authority) *tls.Config {
	t.Helper()
	cert, err := tls.X509KeyPair(a.Pair(t, 100))
	must(t, err)
	config := server.Trusting()
	config.Certificates = []tls.Certificate{cert}
	return config
}

// Files writes the files of a server in a temporary folder. Its certificate has the serial number
// 2. It admits clients of the other authority; nil admits every client.
func (a *Authority) Files(t testing.TB, clients *Authority) httpserve.TLS {
	t.Helper()
	dir := t.TempDir()
	out := httpserve.TLS{CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key")}
	cert, key := a.Pair(t, 2)
	Write(t, out.CertFile, cert)
	Write(t, out.KeyFile, key)
	if clients != nil {
		out.ClientCAFile = filepath.Join(dir, "ca.crt")
		Write(t, out.ClientCAFile, clients.PEM())
	}
	return out
}

// Write replaces the content of a file.
func Write(t testing.TB, file string, content []byte) {
	t.Helper()
	must(t, os.WriteFile(file, content, 0o600))
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
