// SPDX-License-Identifier: Apache-2.0

package welcome

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// kubeconfig returns one for the API server at a URL.
func kubeconfig(t *testing.T, url string) *proxy.Kubeconfig {
	t.Helper()
	raw := clientcmdapi.NewConfig()
	raw.Clusters["c"] = &clientcmdapi.Cluster{Server: url}
	raw.AuthInfos["u"] = &clientcmdapi.AuthInfo{}
	raw.Contexts["kind\x1b"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: "shop"}
	raw.CurrentContext = "kind\x1b"
	k, err := proxy.LoadKubeconfig(clientcmd.NewDefaultClientConfig(*raw, nil), proxy.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestWelcome(t *testing.T) {
	stop := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"gitVersion":"v1.37.0"}`)
	})
	mux.HandleFunc("GET /api/v1/namespaces/kube-system", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadata",`+
			`"apiVersion":"meta.k8s.io/v1","metadata":{"uid":"c"}}`)
	})
	cluster := httptest.NewServer(mux)
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"version":"1","cluster":"c","stats":{"traces":14,"open":2},"namespaces":["shop"]}`)
	}))
	t.Cleanup(func() {
		close(stop)
		cluster.Close()
		slow.Close()
		server.Close()
	})
	const head = "Lifeline shows everything that a change does in a Kubernetes cluster, as one trace.\n\n"
	for name, tc := range map[string]struct {
		reason, url, server string
		broken              error
		want                string
	}{
		"nothing": {"a server and a cluster are elsewhere", "", cli.NoServer, nil, `
kubeconfig  there is none: set KUBECONFIG, or have one at ~/.kube/config
            a cluster on this machine: kind create cluster, or minikube start

Try:
  lifeline replay FILE      a recording of a cluster, as a tree
  lifeline ui --server URL  the page of a server elsewhere
  lifeline --help           all commands
`},
		"broken": {"the reason is there", "", cli.NoServer, errors.New("line 3"), `
kubeconfig  line 3
            a cluster on this machine: kind create cluster, or minikube start

Try:
  lifeline replay FILE      a recording of a cluster, as a tree
  lifeline ui --server URL  the page of a server elsewhere
  lifeline --help           all commands
`},
		"cluster": {"no server runs", cluster.URL, cli.NoServer, nil, `
context  kind\x1b, namespace shop
cluster  ` + cluster.URL + ` v1.37.0
server   none, on this machine or in the cluster

Try:
  lifeline ui                                live changes on a page; -A: of all namespaces
  lifeline run -- kubectl apply -f app.yaml  one change, and all that it sets off
  lifeline why -A                            what is broken now
  lifeline install                           a server in the cluster, which traces all changes
  lifeline doctor                            what this cluster offers, and how to get the rest
  lifeline --help                            all commands
`},
		"server": {"the server watches one namespace", cluster.URL, server.URL, nil, `
context  kind\x1b, namespace shop
cluster  ` + cluster.URL + ` v1.37.0
server   ` + server.URL + `: 14 changes, 2 open

Try:
  lifeline ui                                the page of the server, in a browser
  lifeline ls                                recent changes
  lifeline why                               what is broken now
  lifeline watch                             changes as they happen
  lifeline run -- kubectl apply -f app.yaml  one change, and all that it sets off
  lifeline --help                            all commands
`},
		"silent": {"the wait is bounded", slow.URL, cli.NoServer, nil, `
context  kind\x1b, namespace shop
cluster  ` + slow.URL + ` does not answer: no answer within 500ms
server   none, on this machine or in the cluster

Try:
  lifeline ui --context NAME  live changes of another cluster on a page
  lifeline --help             all commands
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out, talk bytes.Buffer
			w := &Welcome{
				Options: cli.Options{
					Streams: genericiooptions.IOStreams{Out: &out, ErrOut: &talk},
					Environ: []string{cli.EnvServer + "=" + tc.server},
				},
				Name: "lifeline", Broken: tc.broken, Patience: 500 * time.Millisecond,
			}
			if tc.url != "" {
				w.Kubeconfig = kubeconfig(t, tc.url)
			}
			if code, err := w.Run(t.Context()); code != cli.CodeOK || err != nil {
				t.Errorf("%s: %d, %v", tc.reason, code, err)
			}
			if diff := cmp.Diff(head+strings.TrimPrefix(tc.want, "\n"), out.String()); diff != "" || talk.Len() > 0 {
				t.Errorf("%s: -want +got\n%s\nsaid %q", tc.reason, diff, &talk)
			}
		})
	}
}
