// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// discovery is an API server with discovery only.
func discovery(t *testing.T) *rest.Config {
	t.Helper()
	answers := map[string]string{
		"/api": `{"kind":"APIVersions","versions":["v1"]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","kind":"Pod",` +
			`"namespaced":true,"verbs":["list","watch"]},{"name":"secrets","kind":"Secret","namespaced":true,` +
			`"verbs":["list","watch"]},{"name":"pods/log","kind":"Pod","namespaced":true,"verbs":["get"]}]}`,
		"/apis": `{"kind":"APIGroupList","groups":[
			{"name":"example.com","versions":[{"groupVersion":"example.com/v1","version":"v1"}],` +
			`"preferredVersion":{"groupVersion":"example.com/v1","version":"v1"}},
			{"name":"down.example.com","versions":[{"groupVersion":"down.example.com/v1","version":"v1"}],` +
			`"preferredVersion":{"groupVersion":"down.example.com/v1","version":"v1"}}]}`,
		"/apis/example.com/v1": `{"kind":"APIResourceList","groupVersion":"example.com/v1",` +
			`"resources":[{"name":"heads","kind":"Head","namespaced":true,"verbs":["get","list","watch"]},` +
			`{"name":"reviews","kind":"Review","verbs":["create"]}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			http.Error(w, "down", http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func TestCommandAsksTheCluster(t *testing.T) {
	var out, log bytes.Buffer
	c := &Command{
		REST: discovery(t), Out: &out, Log: &log, Options: Options{Config: config.Default(), Namespace: "a", Name: "b"},
	}
	if code, err := c.Run(t.Context()); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	var got []string
	for _, r := range decode(t, out.String())["ClusterRole /b"] {
		got = append(got, r.Resources...)
	}
	if want := []string{"namespaces", "pods", "heads"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.HasPrefix(log.String(), "lifeline: cannot watch the API down.example.com/v1: ") {
		t.Errorf("an API that does not answer is named: %q", &log)
	}
}

func TestCommandWithoutTheCluster(t *testing.T) {
	var out, log bytes.Buffer
	c := &Command{
		REST: &rest.Config{Host: "http://127.0.0.1:1"}, Out: &out, Log: &log, Options: Options{
			Config: config.Default(), Namespace: "a", Name: "b",
		},
	}
	code, err := c.Run(t.Context())
	if code != 1 || err == nil ||
		!strings.HasSuffix(err.Error(), "; --offline writes the rights for what is built in") || out.Len() > 0 {
		t.Errorf("got %d, %v, %q", code, err, &out)
	}
}
