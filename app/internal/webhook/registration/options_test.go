// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// refused compares an error with a text that names the flag; an empty text expects no error.
func refused(t *testing.T, reason string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", reason, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got %v, want %q", reason, err, want)
	}
}

func TestParseService(t *testing.T) {
	service := func(namespace, name string, port int32) Service {
		return Service{types.NamespacedName{Namespace: namespace, Name: name}, port}
	}
	for name, tc := range map[string]struct {
		reason, text string
		want         Service
		err          string
	}{
		"port":         {"unchanged", "a/b:9443", service("a", "b", 9443), ""},
		"no port":      {"that of https", "a/b", service("a", "b", 443), ""},
		"no namespace": {"a Service is in one", "b:9443", Service{}, `--service "b:9443": it must be NAMESPACE/NAME`},
		"port 0":       {"no port", "a/b:0", Service{}, "the port is not 1 to 65535"},
		"empty port":   {"no port", "a/b:", Service{}, "the port is not 1 to 65535"},
		"large port":   {"no port", "a/b:65536", Service{}, "the port is not 1 to 65535"},
		"three parts":  {"no name", "a/b/c", Service{}, "the name of the Service is invalid"},
		"dots":         {"a Service's name is a label", "a/b.c", Service{}, "the name of the Service is invalid"},
		"control":      {"escaped", "a/b\x1b[2J", Service{}, `--service "a/b\x1b[2J"`},
		"long":         {"bounded", strings.Repeat("x", 5000), Service{}, `--service "xxx`},
		"empty":        {"nothing", "", Service{}, "the name of the Service is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseService(tc.text)
			refused(t, tc.reason, err, tc.err)
			if err == nil && got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
		})
	}
}

func TestParseURL(t *testing.T) {
	for name, tc := range map[string]struct{ reason, text, want, err string }{
		"whole":   {"unchanged", "https://192.0.2.1:9443/admission", "https://192.0.2.1:9443/admission", ""},
		"no path": {"there is only one", "https://a.example", "https://a.example/admission", ""},
		"a slash": {"there is only one", "https://[::1]:9443/", "https://[::1]:9443/admission", ""},
		"plain": {
			"the API server speaks TLS only", "http://a.example/admission", "",
			"it must be https://HOST:PORT/admission",
		},
		"no host":  {"no address to call", "https:///admission", "", "it must be https://HOST:PORT/admission"},
		"no URL":   {"", "::", "", "it must be https://HOST:PORT/admission"},
		"path":     {"no server answers there", "https://a.example/mutate", "", "a server answers at /admission"},
		"query":    {"the API server refuses it", "https://a.example/admission?x=y", "", "no query"},
		"password": {"it would be public", "https://ann:secret@a.example/admission", "", "no user or password"},
		"control":  {"escaped", "https://a\x1b[2J", "", `"https://a\x1b[2J"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseURL(tc.text)
			refused(t, tc.reason, err, tc.err)
			if got != tc.want || err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %q, %v", tc.reason, got, err)
			}
		})
	}
}

func TestParseRest(t *testing.T) {
	if n, err := ParseCertificate("a/b.c"); err != nil || n.String() != "a/b.c" {
		t.Errorf("Certificate: %v, %v", n, err)
	}
	for _, bad := range []string{"", "a", "a/b/c", "/b", "A/b"} {
		if _, err := ParseCertificate(bad); err == nil {
			t.Errorf("Certificate %q is taken", bad)
		}
	}
	got, err := ParseExcluded([]string{"pods", "heads.example.com", "*.noisy.example.com"})
	want := []schema.GroupResource{
		{Resource: "pods"}, {Group: "example.com", Resource: "heads"}, {Group: "noisy.example.com"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v: -want +got:\n%s", err, diff)
	}
	for _, bad := range []string{"", "*", "a/b", `x"] || true || ["`, "Pods", "pods."} {
		if _, err := ParseExcluded([]string{bad}); err == nil {
			t.Errorf("kind %q is taken", bad)
		}
	}
}

func valid() Options {
	return Options{
		Name: "lifeline", Namespace: "tracing",
		Service: Service{types.NamespacedName{Namespace: "tracing", Name: "hook"}, 443}, Observe: true,
	}
}

func TestValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*Options)
		err    string
	}{
		"valid":     {"", func(*Options) {}, ""},
		"name":      {"an object's", func(o *Options) { o.Name = "A b" }, `--name "A b"`},
		"namespace": {"a namespace's", func(o *Options) { o.Namespace = "a.b" }, `--namespace "a.b"`},
		"both": {"one server", func(o *Options) { o.URL = "https://a/admission" },
			"give either --service or --url"},
		"neither": {"one server", func(o *Options) { o.Service = Service{} }, "give either --service or --url"},
		"authorities": {
			"one is right", func(o *Options) { o.CA, o.Certificate.Name = []byte("x"), "c" },
			"give either --ca-file or --cert-manager",
		},
		"no authority": {"no certificate would match", func(o *Options) { o.CA = []byte("x") },
			"no certificate in PEM"},
		"pattern": {
			"labels have no patterns", func(o *Options) { o.ExcludeNamespaces = []string{"kube-*"} },
			`--exclude-namespace "kube-*"`,
		},
		"many": {
			"each costs every request", func(o *Options) { o.ExcludeNamespaces = make([]string, 201) },
			"--exclude-namespace",
		},
		"many, correct": {
			"each costs every request", func(o *Options) {
				o.ExcludeNamespaces = strings.Fields(strings.Repeat("a ", 201))
			}, "cannot exclude 201",
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := valid()
			tc.change(&o)
			refused(t, tc.reason, o.Validate(), tc.err)
		})
	}
}

// certificate returns a self-signed certificate and its key.
func certificate(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{
		Type: "PRIVATE KEY", Bytes: secret,
	})
}

func TestReadCA(t *testing.T) {
	cert, key := certificate(t)
	path := filepath.Join(t.TempDir(), "ca.crt")
	for name, tc := range map[string]struct {
		reason, text, err string
	}{
		"one":  {"", string(cert), ""},
		"two":  {"a bundle", string(cert) + "# old\n" + string(cert), ""},
		"none": {"", "x", "it has no certificate in PEM"},
		"a key": {
			"the configuration is public", string(cert) + string(key), `it has a "PRIVATE KEY" beside certificates`,
		},
		"half a key": {
			"even what cannot be read", string(cert) + string(key[:len(key)/2]),
			"it has a private key that cannot be read",
		},
		"broken": {
			"", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n", "its certificate 1 cannot be read",
		},
		"huge": {"", strings.Repeat("x", maxCA+1), "it has more than 256 KiB"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := ReadCA(path)
			refused(t, tc.reason, err, tc.err)
		})
	}
	_, err := ReadCA(filepath.Join(t.TempDir(), "none"))
	refused(t, "the file is named", err, "none: no such file")
}
