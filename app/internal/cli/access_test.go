// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli/clitest"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

// TestAccessToServer: a named server gets the token of the flag or of the environment. A server at
// the default address gets none, since any program may have that address.
func TestAccessToServer(t *testing.T) {
	const token = "0123456789abcdef"
	file := filepath.Join(t.TempDir(), "token")
	httpservetest.Write(t, file, []byte(token))
	ours := serve(t, "cluster-1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			api.Reject(w, http.StatusUnauthorized, "no")
			return
		}
		ours.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	cluster := clitest.New(t)
	access := client.Access{TokenFile: file}
	for name, tc := range map[string]struct {
		server         Server
		env            []string
		local          bool
		want, log, err string
	}{
		"Flag":        {server: Server{URL: server.URL, Named: true, Access: access}, want: server.URL},
		"Environment": {env: []string{EnvServer + "=" + server.URL, EnvTokenFile + "=" + file}, want: server.URL},
		"FlagFirst": {
			server: Server{URL: server.URL, Named: true, Access: access}, env: []string{EnvTokenFile + "=/none"},
			want: server.URL,
		},
		"None": {
			server: Server{URL: server.URL, Named: true},
			err:    "cannot ask the server that --server names: " + server.URL + " requires a token",
		},
		"CAFile": {
			server: Server{URL: server.URL, Named: true}, env: []string{EnvCAFile + "=/none"},
			err: "cannot read the CA file",
		},
		"Unnamed": {
			local: true, env: []string{EnvTokenFile + "=" + file},
			log: "the server at " + server.URL + " requires a token: it is not used, unless you name it with --server",
		},
		"NoServer": {server: Server{Access: access}, err: "--token-file and --ca-file are for a server with a name"},
	} {
		t.Run(name, func(t *testing.T) {
			o, log := asking()
			o.Kubeconfig, o.Environ = cluster.Kubeconfig(t), tc.env
			if tc.env == nil {
				o.Environ = []string{}
			}
			connect := func() (*Session, error) { return o.Connect(t.Context(), tc.server) }
			if tc.local {
				connect = func() (*Session, error) { return o.localServer(t.Context(), server.URL) }
			}
			got, err := connect()
			check(t, "", got, err, log.String(), tc.want, tc.log, tc.err)
		})
	}
}
