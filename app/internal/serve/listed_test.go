// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

func TestUnlistable(t *testing.T) {
	resource := func(name string, connected, unreadable int, failures uint64) watch.ResourceStats {
		return watch.ResourceStats{
			Resource: schema.GroupResource{Resource: name}, Streams: 1, Connected: connected, Unreadable: unreadable,
			Errors: map[string]uint64{"server": failures},
		}
	}
	stats := func(resources ...watch.ResourceStats) watch.Stats { return watch.Stats{Resources: resources} }
	for name, c := range map[string]struct {
		reason      string
		before, now watch.Stats
		want        []string
	}{
		"fails": {
			"nothing else is missing", stats(
				resource("heads", 0, 0, 1),
				resource("pods", 0, 0, 0),
				resource("secrets", 0, 0, 0),
			),
			stats(
				resource("heads", 0, 0, 9),
				resource("pods", 1, 0, 0),
				resource("secrets", 0, 1, 0),
			), []string{"heads"},
		},
		"fails from its beginning": {
			"it was not watched before",
			watch.Stats{},
			stats(resource("heads", 0, 0, 9), resource("pods", 1, 0, 0)),
			[]string{"heads"},
		},
		"another is large": {
			"it is being read", stats(), stats(
				resource("heads", 0, 0, 9),
				resource("nodes", 1, 0, 0),
				resource("pods", 0, 0, 0),
			), nil,
		},
		"has failed": {
			"it is being read now",
			stats(resource("heads", 0, 0, 9)),
			stats(resource("heads", 0, 0, 9), resource("pods", 1, 0, 0)),
			nil,
		},
		"all fail": {
			"the API server starts",
			stats(),
			stats(resource("heads", 0, 0, 9), resource("pods", 0, 0, 9)),
			nil,
		},
		"none": {"all is shown that can be", stats(), stats(resource("pods", 1, 0, 3)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, unlistable(c.before, c.now)); d != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, d)
			}
		})
	}
}

// unconverted is an API server without any Pods, and with heads whose conversion webhook is
// missing. Its watches end with the test.
func unconverted(t *testing.T) *httptest.Server {
	t.Helper()
	return emptyCluster(t, "heads")
}

// emptyCluster is an API server without any Pods, and with other resources that it fails to list. Its
// watches end with the test.
func emptyCluster(t *testing.T, failing ...string) *httptest.Server {
	t.Helper()
	type object = map[string]any
	ended := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(code int, v object) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_ = json.NewEncoder(w).Encode(v)
		}
		resource := func(name, kind string) object {
			return object{"name": name, "kind": kind, "namespaced": true, "verbs": []string{"get", "list", "watch"}}
		}
		switch {
		case r.URL.Path == "/api":
			answer(http.StatusOK, object{"kind": "APIVersions", "versions": []string{"v1"}})
		case r.URL.Path == "/apis":
			answer(http.StatusOK, object{"kind": "APIGroupList", "apiVersion": "v1", "groups": []object{}})
		case r.URL.Path == "/api/v1":
			all := []object{resource("pods", "Pod")}
			for _, name := range failing {
				all = append(all, resource(name, "Head"))
			}
			answer(http.StatusOK, object{"kind": "APIResourceList", "groupVersion": "v1", "resources": all})
		case strings.HasSuffix(r.URL.Path, "/kube-system"):
			answer(http.StatusNotFound, object{
				"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound",
				"code": http.StatusNotFound,
			})
		case slices.Contains(failing, path.Base(r.URL.Path)):
			answer(http.StatusInternalServerError, object{
				"kind":       "Status",
				"apiVersion": "v1",
				"status":     "Failure",
				"code":       http.StatusInternalServerError,
				"reason":     "InternalError",
				"message":    "conversion webhook for example.com/v1, Kind=Head failed",
			})
		case r.URL.Query().Has("watch"):
			w.Header().Set("Content-Type", "application/json")
			_ = http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		default:
			answer(http.StatusOK, object{
				"kind":       "PodList",
				"apiVersion": "v1",
				"metadata":   object{"resourceVersion": "5"},
				"items":      []object{},
			})
		}
	}))
	t.Cleanup(func() { close(ended); api.Close() })
	return api
}

// A kind that cannot be listed keeps the server from being ready for a while only.
func TestListsWithoutAKind(t *testing.T) {
	var log bytes.Buffer
	w, err := watch.New(
		watch.Config{REST: &rest.Config{Host: unconverted(t).URL}, Emit: func(*observation.Observation) {}},
	)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Watch(t.Context(), watch.Scope{}); err != nil {
		t.Fatal(err)
	}
	if err := listed(t.Context(), w, 100*time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "resources=heads") {
		t.Errorf("it continues without a log line: %s", log.String())
	}
}
