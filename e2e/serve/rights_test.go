// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// account is the ServiceAccount in the output of lifeline rbac.
const account = "lifeline"

// granted applies the output of lifeline rbac for a new namespace, and returns that.
func granted(t *testing.T) (namespace string) {
	t.Helper()
	namespace = bench.Namespace(t)
	r := bench.Exec(t, "rbac", "-n", namespace)
	if r.Code != 0 {
		t.Fatalf("lifeline rbac: %d\n%s", r.Code, r.Stderr)
	}
	bench.MustKubectl(t, r.Stdout, "apply", "-f", "-")
	t.Cleanup(func() { // for the objects outside the namespace
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, _ = bench.RunKubectl(
			ctx,
			strings.NewReader(r.Stdout),
			"delete",
			"--ignore-not-found",
			"--wait=false",
			"-f",
			"-",
		)
	})
	return namespace
}

// token returns a new token of the account.
func token(t *testing.T, namespace string, lives time.Duration) string {
	t.Helper()
	seconds := int64(lives.Seconds())
	r, err := client(t).CoreV1().ServiceAccounts(namespace).CreateToken(
		t.Context(),
		account,
		&authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds},
		},
		metav1.CreateOptions{},
	)
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

// identity returns a kubeconfig with other credentials: change sets those of every user in it.
func identity(t *testing.T, change func(*clientcmdapi.AuthInfo)) string {
	t.Helper()
	return bench.KubeconfigWith(t, func(c *harness.Config) {
		for name := range c.AuthInfos {
			c.AuthInfos[name] = clientcmdapi.NewAuthInfo()
			change(c.AuthInfos[name])
		}
	})
}

// TestRights: with the rights of lifeline rbac, a server sees all objects and sends no forbidden
// request. It reads no Secret and writes nothing.
func TestRights(t *testing.T) {
	own := granted(t)
	bearer := token(t, own, time.Hour)
	s := bench.Server(
		t,
		harness.ServerOptions{Kubeconfig: identity(t, func(a *clientcmdapi.AuthInfo) { a.Token = bearer })},
	)
	s.Start(t)
	ns := bench.Namespace(t)
	create(t, ns, "web")
	expect(t, s, ns, "web")
	s.Stop(t)
	for _, l := range s.Lines() {
		if l.Level() != "INFO" || strings.Contains(strings.ToLower(l.Message()), "permitted") {
			t.Errorf("the server logged a problem: %v", l)
		}
	}
	if strings.Contains(strings.ToLower(s.Log()), "forbidden") {
		t.Error("a request of the server was forbidden")
	}
	requests(t, "system:serviceaccount:"+own+":"+account)
}

// requests checks that the API server's audit log has no request of a user. The log has all writes,
// and all reads of Secrets.
func requests(t *testing.T, user string) {
	t.Helper()
	f, err := os.Open(bench.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	all, secrets := 0, 0
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e struct {
			Verb       string `json:"verb"`
			RequestURI string `json:"requestURI"`
			User       struct {
				Username string `json:"username"`
			} `json:"user"`
			ObjectRef struct {
				Resource string `json:"resource"`
			} `json:"objectRef"`
		}
		if json.Unmarshal(text, &e) != nil {
			continue
		}
		all++
		if e.ObjectRef.Resource == "secrets" {
			secrets++
		}
		if e.User.Username == user {
			t.Errorf("%s sent a write or a read of Secrets: %s %s", user, e.Verb, e.RequestURI)
		}
	}
	t.Logf("%d requests in the log, %d of them about Secrets, none of %s", all, secrets, user)
	if all == 0 {
		t.Error("the audit log is empty")
	}
}

// TestNoRights: without the right to watch anything, the server ends with an error that names the
// remedy.
func TestNoRights(t *testing.T) {
	own := bench.Namespace(t)
	nobody := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: own}}
	if _, err := client(t).CoreV1().ServiceAccounts(own).Create(
		t.Context(),
		nobody,
		metav1.CreateOptions{},
	); err != nil {
		t.Fatal(err)
	}
	bearer := token(t, own, time.Hour)
	s := bench.Server(
		t,
		harness.ServerOptions{Kubeconfig: identity(t, func(a *clientcmdapi.AuthInfo) { a.Token = bearer })},
	)
	s.Begin(t)
	r := s.Ended(t)
	if r.Code != 1 || !strings.Contains(r.Stderr, "nothing may be watched: give ") ||
		!strings.Contains(r.Stderr, "`lifeline rbac`") {
		t.Errorf("exit code %d, want 1 and an error with `lifeline rbac`: %s", r.Code, r.Stderr)
	}
	if strings.Contains(s.Log(), "watching the cluster") {
		t.Errorf("the log says that the server watches the cluster:\n%s", s.Log())
	}
}

// TestCredentialsRenewed: the server uses a token that is replaced on disk, and survives the end of
// its first token.
func TestCredentialsRenewed(t *testing.T) {
	harness.Slow(t)
	own := granted(t)
	file := t.TempDir() + "/token"
	write := func(text string) {
		if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	write(token(t, own, time.Hour))
	s := bench.Server(
		t,
		harness.ServerOptions{Kubeconfig: identity(t, func(a *clientcmdapi.AuthInfo) { a.TokenFile = file })},
	)
	s.Start(t)
	ns := bench.Namespace(t)
	create(t, ns, "before")
	expect(t, s, ns, "before")

	// The deletion of an account invalidates its tokens.
	accounts := client(t).CoreV1().ServiceAccounts(own)
	if err := accounts.Delete(t.Context(), account, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	anew := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account, Namespace: own}}
	if _, err := accounts.Create(t.Context(), anew, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	restartAPI(t, false) // ends the watches with the old token
	create(t, ns, "between")
	s.AwaitLog(t, "does not accept the credentials")
	write(token(t, own, time.Hour))
	expect(t, s, ns, "between")
	create(t, ns, "after")
	expect(t, s, ns, "after")
	s.Stop(t)
}

// TestCertificateRenewed: the server uses a client certificate that is replaced on disk after the
// first has expired.
func TestCertificateRenewed(t *testing.T) {
	harness.Slow(t)
	dir := t.TempDir()
	certFile, keyFile := filepath.Join(dir, "client.crt"), filepath.Join(dir, "client.key")
	expires := certificate(t, certFile, keyFile, 45*time.Second)
	s := bench.Server(t, harness.ServerOptions{Kubeconfig: identity(t, func(a *clientcmdapi.AuthInfo) {
		a.ClientCertificate, a.ClientKey = certFile, keyFile
	})})
	s.Start(t)
	ns := bench.Namespace(t)
	create(t, ns, "before")
	expect(t, s, ns, "before")
	harness.Eventually(t, "the end of the certificate's validity", func() bool { return time.Now().After(expires) })
	restartAPI(t, true)
	create(t, ns, "between")
	s.AwaitLog(t, "does not accept the credentials")
	certificate(t, certFile, keyFile, time.Hour)
	expect(t, s, ns, "between")
	create(t, ns, "after")
	expect(t, s, ns, "after")
	s.Stop(t)
}

// certificate writes a client certificate of an administrator, signed by the cluster's authority,
// and its key. It returns the time of its expiry.
func certificate(t *testing.T, certFile, keyFile string, lives time.Duration) time.Time {
	t.Helper()
	authority, err := tls.LoadX509KeyPair(
		filepath.Join(bench.Dir(), "pki", "ca.crt"),
		filepath.Join(bench.Dir(), "pki", "ca.key"),
	)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	expires := time.Now().Add(lives).Truncate(time.Second)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: "lifeline-e2e", Organization: []string{"system:masters"}},
		NotBefore:    time.Now().Add(-time.Minute), NotAfter: expires,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, authority.Leaf, key.Public(), authority.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return expires
}
