// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// TestSinks expects spans of API server and etcd, and audit batches, where the
// options send them, also after a change of configuration.
func TestSinks(t *testing.T) {
	slow(t)
	spans, endpoint := receive(t)
	var events atomic.Int64
	sink := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var list struct{ Items []json.RawMessage }
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			t.Errorf("audit batch: %v", err)
		}
		events.Add(int64(len(list.Items)))
	}))
	t.Cleanup(sink.Close)
	all := Tracing{Endpoint: endpoint, SamplingRatePerMillion: 1_000_000}
	c := start(t, Options{Nodes: NodesNone, Tracing: map[Component]Tracing{APIServer: all, Etcd: all}})

	kubectl(t, c, "", "create", "configmap", "traced")
	eventually(t, func() error {
		_, ofServer := spans.longest("apiserver", "/configmaps")
		_, ofEtcd := spans.longest("etcd", "/Txn")
		return errors.Join(ofServer, ofEtcd)
	})

	if err := c.Reconfigure(t.Context(), func(o *Options) { o.AuditWebhook = sink.URL }); err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, "", "create", "configmap", "audited")
	eventually(t, func() error {
		if events.Load() == 0 {
			return errors.New("no audit event came")
		}
		return nil
	})
}
