// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// revoke makes the server accept only another token, and ends all watches.
func (f *fakeAPI) revoke(token string) {
	f.with(func() { f.token = token })
	f.endWatches()
}

func TestTokenRenewedByReload(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.token = "old" })
	token := atomic.Pointer[string]{}
	var asked atomic.Int64
	store := func(s string) { token.Store(&s) }
	store("old")
	wd := watchingAs(t, f, func(c *Config) {
		c.REST.BearerToken = "old"
		c.Reload = func() (*rest.Config, error) {
			asked.Add(1)
			if *token.Load() == "" {
				return nil, errors.New("no such file")
			}
			return &rest.Config{Host: f.server.URL, BearerToken: *token.Load()}, nil
		}
	})
	wd.watch(all)
	wd.present()

	store("new")
	f.revoke("new")
	f.put(podsPath, "default", "a")
	wd.awaitLine("Pod/a 101")
	wd.present()
	if n := asked.Load(); n != 1 {
		t.Errorf("want one Reload for all streams, got %d", n)
	}
	wd.wantWarnings()

	store("")
	wd.warnings.once(unreachable, "the server is away") // as before its restart
	f.revoke("newer")
	wd.await("warnings", func() bool { return len(wd.warns) == 3 })
	store("newer")
	f.put(podsPath, "default", "b")
	wd.awaitLine("Pod/b 102")
	wd.present()
	wd.wantWarnings("the server is away", "cannot renew the credentials: no such file; trying again",
		"the API server does not accept the credentials any more; trying again")
}

func TestReloadIsAskedRarely(t *testing.T) {
	f := newFakeAPI(t)
	var asked atomic.Int64
	wd := watchingAs(t, f, func(c *Config) {
		c.REST.BearerToken = "old"
		c.Reload = func() (*rest.Config, error) { asked.Add(1); return c.REST, nil }
	})
	wd.pace.renew = time.Hour
	wd.watch(all)
	wd.present()
	f.revoke("new")
	wd.await("many refusals", func() bool { defer wd.ping(); return unauthorized(wd) > 20 })
	if n := asked.Load(); n != 1 {
		t.Errorf("want one Reload in an hour, got %d", n)
	}
}

func unauthorized(wd *watched) uint64 {
	var n uint64
	for _, r := range wd.Stats().Resources {
		n += r.Errors["unauthorized"]
	}
	return n
}

func TestReloadMustNotLeadToAnotherCluster(t *testing.T) {
	f, other := newFakeAPI(t), newFakeAPI(t)
	other.put(podsPath, "default", "foreign")
	wd := watchingAs(t, f, func(c *Config) {
		c.Reload = func() (*rest.Config, error) { return &rest.Config{Host: other.server.URL, BearerToken: "x"}, nil }
	})
	wd.watch(all)
	wd.present()
	f.revoke("x")
	wd.await("warnings", func() bool { return len(wd.warns) == 2 })
	if len(other.asked("")) != 0 {
		t.Error("the other server got a request")
	}
	wd.want("no observation of the other cluster")
}

func TestTokenFileRenewed(t *testing.T) {
	f := newFakeAPI(t)
	f.with(func() { f.token = "old" })
	file := filepath.Join(t.TempDir(), "token")
	writeFile(t, file, "old")
	wd := watchingAs(t, f, func(c *Config) { c.REST.BearerTokenFile = file })
	wd.watch(all)
	wd.present()
	writeFile(t, file, "new")
	f.revoke("new")
	f.put(podsPath, "default", "a")
	wd.awaitLine("Pod/a 101")
	wd.present()
}

// The server first accepts only another client certificate and then gets a certificate from another
// authority. Both are read from files.
func TestCertificateFilesRenewed(t *testing.T) {
	f := newFakeAPI(t)
	dir := t.TempDir()
	certFile, keyFile, caFile := filepath.Join(dir, "cert"), filepath.Join(dir, "key"), filepath.Join(dir, "ca")
	old, renewed := newPair(t, "old"), newPair(t, "renewed")
	var accepted atomic.Pointer[pair]
	accepted.Store(old)
	authenticated := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.TLS.PeerCertificates; len(got) != 1 || got[0].Subject.CommonName != accepted.Load().name {
			fail(w, http.StatusUnauthorized)
			return
		}
		f.ServeHTTP(w, r)
	})
	plain := f.server
	defer plain.Close()
	var serving atomic.Pointer[pair]
	serving.Store(newPair(t, "server"))
	f.server = httptest.NewUnstartedServer(authenticated)
	f.server.TLS = &tls.Config{
		ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return &tls.Config{
				ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12,
				Certificates: []tls.Certificate{serving.Load().tls},
			}, nil
		},
	}
	f.server.StartTLS()
	defer f.server.Close()
	old.write(t, certFile, keyFile)
	writeFile(t, caFile, serving.Load().cert)

	wd := watchingAs(t, f, func(c *Config) {
		c.REST.TLSClientConfig = rest.TLSClientConfig{CertFile: certFile, KeyFile: keyFile, CAFile: caFile}
	})
	wd.watch(all)
	wd.present()
	renewed.write(t, certFile, keyFile)
	accepted.Store(renewed)
	f.endWatches()
	f.put(podsPath, "default", "a")
	wd.awaitLine("Pod/a 101")
	wd.present()

	serving.Store(newPair(t, "other"))
	writeFile(t, caFile, serving.Load().cert)
	f.server.CloseClientConnections()
	f.put(podsPath, "default", "b")
	wd.awaitLine("Pod/b 102")
	wd.present()
	wd.Close()
}

// pair is a self-signed certificate with its key.
type pair struct {
	name, cert, key string
	tls             tls.Certificate
}

func newPair(t *testing.T, name string) *pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{
		name: name,
		cert: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		key:  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}
	if p.tls, err = tls.X509KeyPair([]byte(p.cert), []byte(p.key)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) write(t *testing.T, certFile, keyFile string) {
	t.Helper()
	writeFile(t, certFile, p.cert)
	writeFile(t, keyFile, p.key)
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
