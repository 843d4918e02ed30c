// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

const (
	reviewed = `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "call", ` +
		`"operation": "CREATE",
		"kind": {"group": "", "version": "v1", "kind": "Service"}, "name": "web", "namespace": "demo", ` +
		`"userInfo": {"username": "ann"},
		"object": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"ANNOTATIONS}, "spec": ` +
		`{"ports": [{"port": 80}]}}}}`
	supplied = `, "annotations": {"trace.kubernetes.io/context": ` +
		`"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`
)

// waitingLog is a log that can be waited for.
type waitingLog struct {
	mu    sync.Mutex
	text  strings.Builder
	wrote chan struct{}
}

func newWaitingLog() *waitingLog { return &waitingLog{wrote: make(chan struct{}, 1)} }

func (l *waitingLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.wrote <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *waitingLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits for a line, and returns what its first group matches.
func (l *waitingLog) await(t *testing.T, line string) string {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		if m := regexp.MustCompile(line).FindStringSubmatch(l.String()); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-l.wrote:
		case <-late:
			t.Fatalf("%q is not in the log:\n%s", line, l)
		}
	}
}

// admits is a server on loopback that answers admission calls.
type admits struct {
	log                *waitingLog
	ca                 *httpservetest.Authority
	webhook, telemetry string
	stop               func() error
}

// starts runs a server; rest is the rest of its configuration file.
func starts(t *testing.T, run func(context.Context, Options) error, o Options, rest string) (a *admits, file string) {
	t.Helper()
	a = &admits{log: newWaitingLog(), ca: httpservetest.New(t)}
	tls := a.ca.Files(t, nil)
	file = filepath.Join(t.TempDir(), "lifeline.yaml")
	content := "apiVersion: lifeline.dev/v1alpha1\nkind: ServerConfiguration\ntelemetry: {address: \"127.0.0.1:0\"}\n" +
		"webhook:\n  endpoint: {address: \"127.0.0.1:0\", tls: {certFile: " + tls.CertFile +
		", keyFile: " + tls.KeyFile + "}}\n" + rest
	httpservetest.Write(t, file, []byte(content))
	var err error
	if o.Config, err = config.Load(file, o.Overrides...); err != nil {
		t.Fatal(err)
	}
	o.File, o.Log = file, a.log
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, o) }()
	a.stop = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { _ = a.stop() })
	a.telemetry = a.log.await(t, `telemetry=(\S+)`)
	a.webhook = a.log.await(t, `admission reviews are answered" address=(\S+)`)
	return a, file
}

// ask sends a review and returns the answer.
func (a *admits) ask(t *testing.T, annotations string) string {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: a.ca.Trusting()}
	defer tr.CloseIdleConnections()
	return body(
		t,
		(&http.Client{Transport: tr}).Post,
		"https://"+a.webhook+"/admission",
		strings.Replace(reviewed, "ANNOTATIONS", annotations, 1),
	)
}

func body(t *testing.T, post func(url, media string, body io.Reader) (*http.Response, error), url, text string) string {
	t.Helper()
	resp, err := post(url, "application/json", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

// get requests a path of the telemetry listener.
func (a *admits) get(t *testing.T, path string) string {
	t.Helper()
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	return body(t, func(url, _ string, _ io.Reader) (*http.Response, error) {
		return (&http.Client{Transport: tr}).Get(url)
	}, "http://"+a.telemetry+path, "")
}

// TestAlone: the webhook alone answers, serves its metrics, applies a change of the suppliers, and
// ends. Several instances are independent. Other parts of the file are not validated.
func TestAlone(t *testing.T) {
	o := Options{Overrides: []config.Override{WebhookOnly}}
	hangup := make(chan os.Signal, 1)
	o.Reload = hangup
	a, file := starts(t, RunWebhook, o, "api: {address: nowhere}\n")
	b, _ := starts(t, RunWebhook, Options{Overrides: []config.Override{WebhookOnly}}, "")
	for _, s := range []*admits{a, b} {
		if got := s.ask(t, ""); !strings.Contains(got, `"allowed":true`) || !strings.Contains(got, `"patch"`) {
			t.Errorf("it answers %s", got)
		}
		if got := s.get(t, "/readyz"); got != "ok\n" {
			t.Errorf("it is ready: %s", got)
		}
		if got := s.get(t, "/metrics"); !strings.Contains(got, "lifeline_admission_reviews_total 1\n") ||
			!strings.Contains(got, `lifeline_admission_contexts_total{evidence="none"} 1`) {
			t.Errorf("it counts:\n%s", got)
		}
	}
	if got := a.ask(t, supplied); strings.Contains(got, `"patch"`) {
		t.Errorf("any user may supply a context: %s", got)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(content), "webhook:\n", "webhook:\n  suppliers: nobody\n", 1)
	httpservetest.Write(t, file, []byte(changed+"watch: {namespaces: [of-no-interest]}\n")) // would need a restart
	hangup <- os.Interrupt
	a.log.await(t, `configuration taken over" changed=(webhook.suppliers)`)
	if got := a.ask(t, supplied); !strings.Contains(got, `"patch"`) || !strings.Contains(got, `"refused"`) {
		t.Errorf("no user may supply a context: %s", got)
	}
	for _, s := range []*admits{a, b} {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	}
	// Listening there could fail: another process may use the port for a connection of its own.
	if _, err := net.Dial("tcp", a.webhook); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a stopped webhook still listens at %s: %v", a.webhook, err)
	}
}

func TestAloneNot(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for name, tc := range map[string]struct {
		reason   string
		endpoint config.EndpointConfiguration
		managed  bool
		want     string
	}{
		"no cluster": {
			"a certificate is kept in one",
			config.EndpointConfiguration{Address: "127.0.0.1:0"},
			true,
			"leave out webhook.certificate.managed, and set webhook.endpoint.tls",
		},
		"no address": {
			"there is nothing to do",
			config.EndpointConfiguration{},
			false,
			"set webhook.endpoint.address in the configuration file, or --address",
		},
		"taken": {"", config.EndpointConfiguration{Address: taken.Addr().String()}, false, "(webhook.endpoint)"},
		"no file": {
			"", config.EndpointConfiguration{
				Address: "127.0.0.1:0",
				TLS:     config.TLSConfiguration{CertFile: "/no/such/file", KeyFile: "x"},
			},
			false, "cannot read TLS file: open /no/such/file: no such file or directory (webhook.endpoint)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.Webhook.Endpoint, c.Webhook.Certificate.Managed = tc.endpoint, tc.managed
			c.Telemetry.Address = "127.0.0.1:0"
			if err := RunWebhook(t.Context(), Options{Config: c, Log: io.Discard}); err == nil ||
				!strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v", tc.reason, err)
			}
		})
	}
}

// TestAdmittedWhileStarting: a server that has not reached its cluster yet answers admission calls,
// with the knowledge that it has.
func TestAdmittedWhileStarting(t *testing.T) {
	o := Options{Connect: func() (*rest.Config, error) { return nil, errors.New("there is no cluster") }}
	a, _ := starts(t, Run, o, "api: {address: \"127.0.0.1:0\"}\n"+
		"showValues: [{group: apps, kind: Deployment, fields: [spec.replicas, spec.template]}]\n")
	a.log.await(t, `may be confidential \(showValues\)" fields="Deployment spec.template"`)
	a.log.await(t, `there is (no) cluster`)
	if got := a.ask(t, ""); !strings.Contains(got, `"allowed":true`) || !strings.Contains(got, `"patch"`) {
		t.Errorf("it answers %s", got)
	}
	if got := a.get(t, "/readyz"); !strings.Contains(got, "waiting for the API server") {
		t.Errorf("it is ready: %s", got)
	}
	if got := a.get(t, "/metrics"); !strings.Contains(got, "lifeline_admission_reviews_total 1\n") {
		t.Errorf("it counts:\n%s", got)
	}
	if err := a.stop(); err != nil {
		t.Error(err)
	}
}
