// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client/clienttest"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// describes returns a server that has only this description.
func describes(info *api.Info, unasked string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if unasked != "" {
			w.Header().Set("Lifeline-Unasked", unasked)
		}
		_ = json.NewEncoder(w).Encode(info)
	})
}

// developer returns the kubeconfig of a user with one namespace.
func developer(t *testing.T, a *clienttest.APIServer, namespace, token string) *proxy.Kubeconfig {
	t.Helper()
	raw := clientcmdapi.NewConfig()
	raw.Clusters["c"] = &clientcmdapi.Cluster{Server: a.URL, CertificateAuthorityData: a.CA()}
	raw.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	raw.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u", Namespace: namespace}
	raw.CurrentContext = "x"
	k, err := proxy.LoadKubeconfig(clientcmd.NewDefaultClientConfig(*raw, nil), proxy.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestClusterServer: without another server, commands use the one in the cluster. Why there is none is said in one
// line, or is the error of a command that needs one.
func TestClusterServer(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	const groupVersion = "/apis/lifeline.dev/v1alpha1"
	for name, tc := range map[string]struct {
		reason, token string
		state         clienttest.State
		outside       bool
		want          string
		asked         int
		log, err      string
	}{
		"There": {"it answers", clienttest.Token, clienttest.State{}, false, groupVersion, 2, "", ""},
		"Outside": {
			"the command leaves it out", clienttest.Token, clienttest.State{}, true, "", 0, "",
			`there is no server: start one with "lifeline ui", install one in the cluster with "lifeline install", ` +
				`or name one with --server or LIFELINE_SERVER`,
		},
		"NoAPIService": {
			"nothing is said", clienttest.Token, clienttest.State{Absent: true}, false, "", 1, "",
			`install one in the cluster with "lifeline install"`,
		},
		"Forbidden": {
			"the next step is the admin's", clienttest.Token, clienttest.State{Forbidden: true}, false, "", 2,
			"lifeline: you may not ask the server in the cluster: its admin can bind the ClusterRole " +
				"lifeline-visible-changes to you\n", "you may not ask the server in the cluster",
		},
		"Away": {
			"the cluster has one, which is down", clienttest.Token, clienttest.State{Away: true}, false, "", 3,
			"lifeline: the server in the cluster does not answer: its APIService v1alpha1.lifeline.dev is not " +
				"available\n",
			"the server in the cluster does not answer",
		},
		"Credentials": {
			"they are refused", "old", clienttest.State{}, false, "", 1,
			"lifeline: the API server does not accept the credentials of your kubeconfig: log in again\n",
			"the API server does not accept the credentials",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := clienttest.New(t, describes(&api.Info{Version: "1", Cluster: "c"}, ""))
			a.Set(tc.state)
			o, log := asking()
			o.Kubeconfig = developer(t, a, "shop", tc.token)
			server := Server{Outside: tc.outside}
			got, err := o.Connect(t.Context(), server)
			want := tc.want
			if want != "" {
				want = a.URL + want
			}
			check(t, tc.reason, got, err, log.String(), want, tc.log, "")
			if asked := a.Asked(); len(asked) != tc.asked {
				t.Errorf("%s: %d requests %q, want %d", tc.reason, len(asked), asked, tc.asked)
			}
			log.Reset()
			got, err = o.Need(t.Context(), server)
			check(t, tc.reason, got, err, log.String(), want, "", tc.err)
		})
	}
	refusing := clienttest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		api.Reject(w, http.StatusForbidden, "dev may not list changes")
	}))
	o, log := asking()
	o.Kubeconfig = developer(t, refusing, "shop", clienttest.Token)
	_, err := o.Need(t.Context(), Server{})
	if err == nil || err.Error() != "dev may not list changes: ask the cluster's admin for view in namespace shop" {
		t.Errorf("a user without a right: %v", err)
	}
	a := clienttest.New(t, nil)
	o.Kubeconfig = developer(t, a, "shop", clienttest.Token)
	a.Close()
	got, err := o.Connect(t.Context(), Server{})
	check(t, "a cluster without an answer is the command's own error", got, err, log.String(), "", "", "")
	_, err = o.Need(t.Context(), Server{})
	if err == nil || !strings.HasPrefix(err.Error(), "cannot ask the API server at "+a.URL) {
		t.Errorf("a command that needs a server: %v", err)
	}
}

// TestBounds: one line says which namespaces the answers lack.
func TestBounds(t *testing.T) {
	many := strings.Split("a b c d e f g h i j k l", " ")
	for name, tc := range map[string]struct {
		visible    []string
		unasked    string
		everywhere bool
		want       string
	}{
		"All":      {nil, "", true, ""},
		"This one": {[]string{"shop", "web"}, "", false, ""},
		"Some": {
			[]string{"shop", "web"}, "", true, "the answers have only the namespaces that you may see: shop, web",
		},
		"Many": {many, "", true, "that you may see: a, b, c, d, e, f, g, h, i, j and 2 more"},
		"Unasked": {
			[]string{"shop"}, "12", true,
			"that you may see: shop; 12 further namespaces were not checked, -n names one of them",
		},
		"Other one": {
			[]string{"web\x1b"}, "", false, "namespace shop has no change that you may see; without the right to its " +
				"changes, ask the cluster's admin for view in namespace shop",
		},
	} {
		a := clienttest.New(t, describes(&api.Info{Version: "1", Visible: tc.visible}, tc.unasked))
		o, log := asking()
		o.Kubeconfig, o.Everywhere = developer(t, a, "shop", clienttest.Token), tc.everywhere
		got, err := clusterServer(t.Context(), &o)
		check(t, name, got, err, log.String(), a.URL+"/apis/lifeline.dev/v1alpha1", tc.want, "")
		if strings.Count(log.String(), "\n") > 1 {
			t.Errorf("%s: more than one line: %s", name, log)
		}
	}
}
