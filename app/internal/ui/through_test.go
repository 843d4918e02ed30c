// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/app/internal/api/client/clienttest"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// TestThrough: the page of a server in the cluster opens on this machine. Its requests go through the API server.
func TestThrough(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	a := clienttest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" || r.Header.Get("Cookie") != "" {
			t.Errorf("the server got credentials: %v", r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"version":"1","cluster":"c","visible":["shop"]}`)
	}))
	raw := clientcmdapi.NewConfig()
	raw.Clusters["c"] = &clientcmdapi.Cluster{Server: a.URL, CertificateAuthorityData: a.CA()}
	raw.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: clienttest.Token}
	raw.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	raw.CurrentContext = "x"
	kubeconfig, err := proxy.LoadKubeconfig(clientcmd.NewDefaultClientConfig(*raw, nil), proxy.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	u, out, talk := command()
	signals := make(chan os.Signal, 1)
	u.Kubeconfig, u.Signals = kubeconfig, signals
	u.Browse = func(ctx context.Context, url string) error {
		defer func() { signals <- os.Interrupt }()
		for path, want := range map[string]string{
			"/": "<!doctype html>", "/api/v1/info": `"cluster":"c"`, "/api/v1/%2e%2e/x": "no such path",
		} {
			if got := body(ctx, t, url+path, ""); !strings.Contains(strings.ToLower(got), want) {
				t.Errorf("%s: got %q, want %q", path, got, want)
			}
		}
		if got := body(ctx, t, url+"/api/v1/info", "evil.example"); !strings.Contains(got, "not to the name") {
			t.Errorf("a web page under another name gets %q", got)
		}
		return nil
	}
	if code, err := u.Run(t.Context()); err != nil || code != cli.CodeOK {
		t.Fatal(code, err)
	}
	const said = "lifeline: the answers have only the namespaces that you may see: shop\n" +
		"lifeline: the page of the server in the cluster, through the API server of context x; Ctrl-C ends it\n"
	if !strings.HasPrefix(out.String(), "http://127.0.0.1:") || talk.String() != said {
		t.Errorf("printed %q, said %q", out, talk)
	}
}

// body returns the answer to a request of a browser, under that name of the host if it is not empty.
func body(ctx context.Context, t *testing.T, url, host string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = host
	req.Header.Set("Authorization", "Bearer x")
	req.Header.Set("Cookie", "a=b")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}
