// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// certify writes a certificate for 127.0.0.1, which is its own authority.
func certify(t *testing.T, certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
	write(t, certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})))
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAccess: an API beyond loopback answers to clients with its token, which trust its certificate.
// Both can be replaced while it runs. The probes need neither.
func TestAccess(t *testing.T) {
	dir := t.TempDir()
	cert, key, token := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"), filepath.Join(dir, "token")
	mine := filepath.Join(dir, "mine")
	const first, next = "0123456789-first-token", "0123456789-next-token"
	certify(t, cert, key)
	write(t, token, first)
	write(t, mine, first)
	s := bench.Server(t, harness.ServerOptions{
		Config: "api: {tls: {certFile: " + cert + ", keyFile: " + key + "}, tokenFile: " + token + "}\n",
		Args:   []string{"--api-address", "0.0.0.0:0"},
	})
	s.Start(t) // by /readyz, without a token
	_, port, err := net.SplitHostPort(s.APIAddress())
	if err != nil {
		t.Fatal(err)
	}
	ls := func(flags ...string) (code int, said string) {
		r := bench.Do(t, harness.Call{
			Args: append([]string{"ls", "-A", "--server", "https://127.0.0.1:" + port}, flags...),
		})
		return r.Code, r.Stderr
	}
	refused := func(want string, flags ...string) {
		t.Helper()
		if code, said := ls(flags...); code != 1 || !strings.Contains(said, want) {
			t.Errorf("%q: exit code %d, want 1 and %q: %s", flags, code, want, said)
		}
	}
	admitted := func() {
		t.Helper()
		if code, said := ls("--ca-file", cert, "--token-file", mine); code != 0 {
			t.Errorf("with the token: exit code %d: %s", code, said)
		}
	}
	admitted()
	refused("is not trusted", "--token-file", mine)
	refused("requires a token", "--ca-file", cert)

	write(t, token, next)
	refused("does not accept the token", "--ca-file", cert, "--token-file", mine)
	write(t, mine, next)
	certify(t, cert, key)
	admitted()
	if log := s.Log(); strings.Contains(log, first) || strings.Contains(log, next) {
		t.Error("the log has a token")
	}
	s.Stop(t)
}
