// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// liar is a webhook that answers what it likes.
type liar struct {
	*hook
	server *httptest.Server
	asked  atomic.Int64
}

// answer is what a liar says to a review with that uid.
type answer func(out http.ResponseWriter, uid string)

// newLiar starts a liar, which the test ends.
func newLiar(t testing.TB, say answer) *liar {
	t.Helper()
	l := &liar{hook: newHook(t)}
	pair, err := tls.LoadX509KeyPair(l.cert, l.key)
	if err != nil {
		t.Fatal(err)
	}
	l.server = httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		l.asked.Add(1)
		var review struct{ Request struct{ UID string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err == nil {
			say(out, review.Request.UID)
		}
	}))
	l.server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	l.server.StartTLS()
	t.Cleanup(l.server.Close)
	l.address = l.server.Listener.Addr().String()
	return l
}

// install tells the API server, and waits until that asks.
func (l *liar) install(t testing.TB) {
	t.Helper()
	l.register(t)
	harness.Eventually(t, "the API server asking the liar", func() bool {
		// It may be refused.
		_, _ = bench.RunKubectl(t.Context(), nil, "-n", "default", "create", "configmap", "probe", "--dry-run=server")
		return l.asked.Load() > 0
	})
}

// reviewed is a well-formed answer with more in it.
func reviewed(uid, more string) string {
	return fmt.Sprintf(
		`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":%q,%s}}`,
		uid,
		more,
	)
}

// patched is an answer with that patch.
func patched(patch string) string {
	return `"allowed":true,"patchType":"JSONPatch","patch":"` + base64.StdEncoding.EncodeToString([]byte(patch)) + `"`
}

// huge is a well-formed answer of 8 MiB.
func huge(out http.ResponseWriter, uid string) {
	blank := bytes.Repeat([]byte(" "), 1<<20)
	for range 8 {
		if _, err := out.Write(blank); err != nil {
			return
		}
	}
	_, _ = io.WriteString(out, reviewed(uid, `"allowed":true`))
}

// certificate is one for loopback that is valid in that span of time, its key and
// its authority, which is itself.
func certificate(t *testing.T, from, to time.Time) (cert, key, ca []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(from.UnixNano()),
		Subject:               pkix.Name{CommonName: "webhook"},
		NotBefore:             from,
		NotAfter:              to,
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), cert
}
