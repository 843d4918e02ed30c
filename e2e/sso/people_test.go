// SPDX-License-Identifier: Apache-2.0

package sso

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/sso/internal/issuer"
)

// The clients of the issuer. A token for one of them is refused where the other one is expected.
const kubectlClient, pageClient, pageSecret = "kubernetes", "lifeline", "the-secret-of-the-page"

// password is that of each user.
const password = "correct-horse"

// people are two tenants, by their groups, and an admin.
var people = map[string]issuer.User{
	"alice": {Password: password, Email: "alice@example.com", Groups: []string{"shop"}},
	"bob":   {Password: password, Email: "bob@example.com", Groups: []string{"web"}},
	"carol": {Password: password, Email: "carol@example.com", Groups: []string{"platform"}},
}

// kubectl is the client of kubectl, with the address at which its login ends.
var kubectl = issuer.Client{ID: kubectlClient, RedirectURIs: []string{"http://127.0.0.1:8000/"}}

// kubeconfig returns the kubeconfig of somebody who has logged in: a program gives the ID token.
func kubeconfig(t *testing.T, user string) string {
	t.Helper()
	credential, err := json.Marshal(map[string]any{
		"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
		"status": map[string]any{"token": provider.Login(t, kubectl, user, password)},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "credential.json")
	if err := os.WriteFile(file, credential, 0o600); err != nil {
		t.Fatal(err)
	}
	return bench.KubeconfigWith(t, func(c *harness.Config) {
		c.AuthInfos = map[string]*clientcmdapi.AuthInfo{user: {Exec: &clientcmdapi.ExecConfig{
			APIVersion: "client.authentication.k8s.io/v1", Command: "cat", Args: []string{file},
			InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}}}
		c.Contexts[c.CurrentContext].AuthInfo = user
	})
}
