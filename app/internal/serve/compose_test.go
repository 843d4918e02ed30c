// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/datadir"
)

// connectTo returns Options.Connect for an API server.
func connectTo(url string) func() (*rest.Config, error) {
	return func() (*rest.Config, error) { return &rest.Config{Host: url}, nil }
}

// TestServe: all parts of a server start, report and stop. A taken address of the API is replaced by a free port,
// which is noted in the directory of the data while the server runs.
func TestServe(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	dir, opened := t.TempDir(), make(chan string, 1)
	a, _ := starts(t, Run, Options{
		Connect: connectTo(emptyCluster(t).URL), FreePort: true, Opened: func(url string) { opened <- url },
	}, "dataDir: "+dir+"\n"+
		"api: {address: \""+taken.Addr().String()+"\"}\n"+
		"receivers: {otlp: {http: {address: \"127.0.0.1:0\"}}, audit: {webhook: {address: \"127.0.0.1:0\"}}}\n"+
		"notices: {receivers: [{name: hook, format: cloudevents, url: \"http://127.0.0.1:1/hook\"}]}\n")
	a.log.await(t, `watching the (cluster)`)
	api := a.log.await(t, `API listens" address=(\S+)`)
	const ready = "+ loop: ok\n+ watch: ok\n+ store: ok\n+ API: ok\n" +
		"+ stored traces: ok\n+ archive: ok\n+ API server: ok\n+ backend: ok\nok\n"
	if got := a.get(t, "/readyz?verbose"); got != ready {
		t.Errorf("it is not ready:\n%s", got)
	}
	text := a.get(t, "/metrics")
	for _, line := range []string{
		"lifeline_leader 1\n", "lifeline_source_lag_seconds{source=\"watch\"} ",
		"lifeline_watch_requests_total{resource=\"pods\",verb=\"list\"} 1\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("the metrics lack %q", line)
		}
	}
	tr := &http.Transport{}
	defer tr.CloseIdleConnections()
	info := body(t, func(url, _ string, _ io.Reader) (*http.Response, error) {
		return (&http.Client{Transport: tr}).Get(url)
	}, "http://"+api+"/api/v1/info", "")
	if !strings.Contains(info, `"leading":true`) || !strings.Contains(info, `"watchingSince":`) {
		t.Errorf("the API answers %s", info)
	}
	if got := datadir.Addresses(dir); len(got) != 1 || got[0] != "http://"+api || got[0] != <-opened {
		t.Errorf("noted %q, want http://%s", got, api)
	}
	if err := a.stop(); err != nil {
		t.Error(err)
	}
	if got := datadir.Addresses(dir); len(got) > 0 {
		t.Errorf("still noted: %q", got)
	}
}

// TestServeWithATakenPort: the server ends with the error of the part, after its other parts.
func TestServeWithATakenPort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	loopback := config.EndpointConfiguration{Address: "127.0.0.1:0"}
	busy := config.EndpointConfiguration{Address: taken.Addr().String()}
	for name, tc := range map[string]struct {
		set  func(c *config.ServerConfiguration)
		want string
	}{
		"telemetry": {func(c *config.ServerConfiguration) {
			c.Telemetry.Address = busy.Address
		}, "(telemetry.address)"},
		"OTLP": {func(c *config.ServerConfiguration) { c.Receivers.OTLP.HTTP = busy }, "(receivers.otlp)"},
		"audit": {func(c *config.ServerConfiguration) {
			c.Receivers.OTLP.HTTP, c.Receivers.Audit.Webhook = loopback, busy
		}, "(receivers.audit.webhook)"},
	} {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			c.DataDir, c.API.Address, c.Telemetry.Address = t.TempDir(), loopback.Address, loopback.Address
			tc.set(c)
			log := newWaitingLog()
			err := Run(t.Context(), Options{Config: c, Connect: connectTo(emptyCluster(t).URL), Log: log})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\n%s", err, log)
			}
		})
	}
}
