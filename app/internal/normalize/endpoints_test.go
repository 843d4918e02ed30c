// SPDX-License-Identifier: Apache-2.0

package normalize

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// sliceWith returns an EndpointSlice with these endpoints.
func sliceWith(tb testing.TB, endpoints ...string) *observation.State {
	tb.Helper()
	text := `{"apiVersion":"discovery.k8s.io/v1","kind":"EndpointSlice","metadata":{"name":"web-x","namespace":"ns",
		"uid":"u","resourceVersion":"7","generation":3,"labels":{"kubernetes.io/service-name":"web"}},
		"addressType":"IPv4","ports":[{"name":"","port":80,"protocol":"TCP"}],
		"endpoints":[` + strings.Join(endpoints, ",") + `]}`
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(text), &u.Object); err != nil {
		tb.Fatal(err)
	}
	return New([KeySize]byte{}, Settings{}).Object(u)
}

// endpoint returns an endpoint with the Pod as its target.
func endpoint(uid, conditions string) string {
	return `{"addresses":["10.1.2.3"],"conditions":{` + conditions + `},"nodeName":"node-1","targetRef":` +
		`{"kind":"Pod","namespace":"ns","name":"web","uid":"` + uid + `"}}`
}

// TestEndpoints: the normal form of an EndpointSlice has the ready Pods, and no addresses.
func TestEndpoints(t *testing.T) {
	many := make([]string, 1200)
	for i := range many {
		many[i] = endpoint(fmt.Sprint("uid-", i), `"ready":true`)
	}
	for name, tc := range map[string]struct {
		reason    string
		endpoints []string
		want      []string
	}{
		"none":    {"no endpoint", nil, nil},
		"ready":   {"a ready Pod", []string{endpoint("a", `"ready":true,"serving":true`)}, []string{"a"}},
		"unready": {"a Pod that is not ready", []string{endpoint("a", `"ready":false,"serving":false`)}, nil},
		"ending":  {"a Pod that serves while it ends", []string{endpoint("a", `"ready":false,"serving":true`)}, nil},
		"unknown": {"no condition means ready", []string{endpoint("a", ``)}, []string{"a"}},
		"twice": {
			"each Pod once", []string{endpoint("a", ``), endpoint("b", ``), endpoint("a", ``)}, []string{"a", "b"},
		},
		"no Pod": {
			"an address without a Pod, and another kind",
			[]string{`{"addresses":["10.1.2.3"]}`, strings.Replace(endpoint("a", ``), `"Pod"`, `"Node"`, 1)},
			nil,
		},
		"malformed": {"any JSON", []string{`3`, `{"targetRef":7,"conditions":[]}`, `null`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := sliceWith(t, tc.endpoints...)
			want := map[observation.EndpointKey]bool{}
			for _, uid := range tc.want {
				want[observation.KeyOfEndpoint("ns", types.UID(uid))] = true
			}
			got := map[observation.EndpointKey]bool{}
			for key := range s.Endpoints.Keys(nil) {
				got[key] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if s.Endpoints.Service != "web" || s.Reconciled {
				t.Errorf("Service %q, reconciled %v", s.Endpoints.Service, s.Reconciled)
			}
			text, err := json.Marshal(s)
			if err != nil || strings.Contains(string(text), "10.1.2.3") {
				t.Errorf("the normal form has an address: %s, %v", text, err)
			}
			if n := len(s.Leaves); n > 7 {
				t.Errorf("%d leaves: %v", n, s.Leaves)
			}
		})
	}
	if got := len(slices.Collect(sliceWith(t, many...).Endpoints.Keys(nil))); got != maxEndpoints {
		t.Errorf("%d endpoints, want %d", got, maxEndpoints)
	}
}

// TestNewEndpoints: the new ready Pods since an earlier version.
func TestNewEndpoints(t *testing.T) {
	before := sliceWith(t, endpoint("a", ``), endpoint("b", ``)).Endpoints
	after := sliceWith(t, endpoint("c", ``), endpoint("b", ``), endpoint("d", `"ready":false`)).Endpoints
	want := []observation.EndpointKey{observation.KeyOfEndpoint("ns", "c")}
	if diff := cmp.Diff(want, slices.Collect(after.Keys(before))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	damaged := &observation.Endpoints{Ready: before.Ready[:12] + "!!!!"}
	if got := len(slices.Collect(damaged.Keys(nil))); got != 1 {
		t.Errorf("%d keys before the damage, want 1", got)
	}
}
