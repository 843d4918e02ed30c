// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/view/viewtest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// now is the time of all tests.
var now = spantest.Epoch.Add(time.Minute)

// cluster is the group over a view.
type cluster struct {
	view *viewtest.View
	hub  *api.Hub
	url  string
	http *http.Client
}

// newCluster serves traces: those that are open, and those that have ended.
func newCluster(t *testing.T, open, finished []*span.Trace) *cluster {
	t.Helper()
	c := &cluster{view: viewtest.New(t), hub: &api.Hub{}}
	c.look(t, now, open, finished)
	answers, err := api.New(api.Options{
		Access: c.view.Access, Hub: c.hub, Cluster: "cluster-1", Clock: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(Handler(answers, Options{AsOf: c.hub.AsOf, Clock: func() time.Time { return now }}))
	c.url, c.http = srv.URL, srv.Client()
	t.Cleanup(func() {
		_ = answers.Close()
		srv.CloseClientConnections()
		srv.Close()
	})
	return c
}

// look stores and publishes a look, as a server does.
func (c *cluster) look(t *testing.T, at time.Time, open, finished []*span.Trace) {
	t.Helper()
	c.view.Put(t, at, viewtest.Traces{Open: open, Finished: finished})
	updates := []api.Update{{AsOf: at}}
	for _, tr := range open {
		updates = append(updates, api.Update{Trace: tr, Open: true, AsOf: at})
	}
	for _, tr := range finished {
		updates = append(updates, api.Update{Trace: tr, AsOf: at})
	}
	c.hub.Publish(updates)
}

// golden compares a text with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", path, diff)
	}
}
