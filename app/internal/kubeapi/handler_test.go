// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// stories are an open change and some that have ended.
func stories(t *testing.T) *cluster {
	t.Helper()
	return newCluster(t, []*span.Trace{spantest.Unschedulable()},
		append(spantest.Healing(), spantest.Apply(), spantest.Rollout(), spantest.Hostile(), spantest.CrashLoop()))
}

const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// get reads a path below Root, and returns the status and the body.
func (c *cluster) get(t *testing.T, path, accept string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+Root+"/"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

// printed is a table as kubectl prints it.
func (c *cluster) printed(t *testing.T, path string, o printers.PrintOptions) string {
	t.Helper()
	code, body := c.get(t, path, asTable)
	var table metav1.Table
	if err := json.Unmarshal(body, &table); err != nil || code != http.StatusOK || table.Kind != "Table" {
		t.Fatalf("%s: %d, %v: %s", path, code, err, body)
	}
	for i := range table.Rows { // as kubectl decodes them
		var o metav1.PartialObjectMetadata
		if err := json.Unmarshal(table.Rows[i].Object.Raw, &o); err != nil {
			t.Fatal(err)
		}
		table.Rows[i].Object.Object = &o
	}
	var out bytes.Buffer
	if err := printers.NewTablePrinter(o).PrintObj(&table, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestTables are the tables of kubectl get.
func TestTables(t *testing.T) {
	c := stories(t)
	golden(t, "get.out", c.printed(t, "namespaces/default/changes", printers.PrintOptions{}))
	golden(t, "get-wide.out", c.printed(t, "namespaces/default/changes", printers.PrintOptions{Wide: true}))
	golden(t, "get-all.out", c.printed(t, "changes", printers.PrintOptions{WithNamespace: true}))
	golden(t, "get-visible.out", c.printed(t, "visiblechanges", printers.PrintOptions{}))
	golden(t, "get-one.out", c.printed(t, "namespaces/default/changes/"+spantest.Apply().ID.String(),
		printers.PrintOptions{}))
}

// TestObjects are the objects of kubectl get -o json, and of describe.
func TestObjects(t *testing.T) {
	c := stories(t)
	for name, path := range map[string]string{
		"list.json":      "namespaces/default/changes?limit=2",
		"converged.json": "namespaces/default/changes/" + spantest.Apply().ID.String(),
		"failed.json":    "namespaces/default/changes/" + spantest.CrashLoop().ID.String(),
		"visible.json":   "visiblechanges/" + spantest.Unschedulable().ID.String(),
	} {
		code, body := c.get(t, path, "application/json")
		var out bytes.Buffer
		if err := json.Indent(&out, body, "", " "); err != nil || code != http.StatusOK {
			t.Fatalf("%s: %d, %v: %s", path, code, err, body)
		}
		golden(t, name, out.String())
	}
}

// TestPages: a client gets all pages, each change once, and no more than the bound.
func TestPages(t *testing.T) {
	c := stories(t)
	var got []string
	path := "namespaces/default/changes?limit=2"
	for next, pages := "", 0; pages == 0 || next != ""; pages++ {
		_, body := c.get(t, path+"&continue="+next, "")
		var list ChangeList
		if err := json.Unmarshal(body, &list); err != nil || len(list.Items) > 2 {
			t.Fatalf("%v: %s", err, body)
		}
		for _, i := range list.Items {
			got = append(got, i.Name)
		}
		next = list.Continue
	}
	if n := len(got); n != 6 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != n {
		t.Errorf("got %d: %v", n, got)
	}
	late := place{After: "x", Had: maxList, Version: "1"}.text()
	if _, body := c.get(t, path+"&continue="+late, ""); !strings.Contains(string(body), `"items":[]`) {
		t.Errorf("after the bound: %s", body)
	}
}

func TestSelectors(t *testing.T) {
	c := stories(t)
	apply, crash := spantest.Apply().ID.String(), spantest.CrashLoop().ID.String()
	for name, tc := range map[string]struct {
		reason, path, field, label string
		code, want                 int
		text                       string
	}{
		"all":       {"", "namespaces/default/changes", "", "", 200, 6, ""},
		"elsewhere": {"no change touches it", "namespaces/other/changes", "", "", 200, 0, ""},
		"name": {
			"kubectl get changes NAME -w", "namespaces/default/changes", "metadata.name=" + apply, "", 200, 1, apply,
		},
		"not a name": {
			"no change has such a name", "changes", "metadata.name=web", "", 200, 0, "",
		},
		"outcome": {"", "namespaces/default/changes", "status.outcome=failed", "", 200, 2, crash},
		"state":   {"", "changes", "status.state=failed", "", 200, 3, crash},
		"label":   {"", "changes", "", "lifeline.dev/state=failed", 200, 3, crash},
		"labels":  {"", "changes", "", "lifeline.dev/state in (failed, stuck)", 200, 4, crash},
		"both":    {"", "changes", "status.state=converged", "lifeline.dev/state=failed", 200, 0, ""},
		"object": {
			"those that touch it", "changes", "involvedObject.kind=ReplicaSet,involvedObject.name=web-6cf", "", 200, 3,
			apply,
		},
		"namespace":    {"", "changes", "metadata.namespace=default", "", 200, 6, ""},
		"contradicted": {"", "namespaces/default/changes", "metadata.namespace=other", "", 200, 0, ""},
		"unknown":      {"", "changes", "spec.user=jane", "", 400, 0, "changes have no field selector spec.user="},
		"not equal":    {"", "changes", "status.state!=failed", "", 400, 0, "each with ="},
		"no field":     {"", "changes", "x", "", 400, 0, "cannot read the field selector"},
		"other label":  {"", "changes", "", "app=web", 400, 0, "the labels are lifeline.dev/state"},
		"exists":       {"", "changes", "", "lifeline.dev/state", 400, 0, "each with = or in"},
		"no label":     {"", "changes", "", "in in in", 400, 0, "cannot read the label selector"},
		"bad state":    {"", "changes", "status.state=lost", "", 400, 0, "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			q := url.Values{"fieldSelector": {tc.field}, "labelSelector": {tc.label}}
			code, body := c.get(t, tc.path+"?"+q.Encode(), "")
			if code != tc.code || !strings.Contains(string(body), tc.text) {
				t.Fatalf("status %d, want %d with %q: %s", code, tc.code, tc.text, body)
			}
			var list struct {
				Kind   string
				Items  []Change
				Reason metav1.StatusReason
			}
			if err := json.Unmarshal(body, &list); err != nil || len(list.Items) != tc.want {
				t.Errorf("%d changes, %v, want %d", len(list.Items), err, tc.want)
			}
			if code != 200 && (list.Kind != "Status" || list.Reason != metav1.StatusReasonBadRequest) {
				t.Errorf("%s: %s", list.Kind, list.Reason)
			}
		})
	}
}

// TestRefused: errors are those of Kubernetes, and a hidden change is as one that does not exist.
func TestRefused(t *testing.T) {
	c := stories(t)
	for name, tc := range map[string]struct {
		path, accept string
		code         int
		want         string
	}{
		"absent": {
			"namespaces/default/changes/ffffffffffffffffffffffffffffffff", "", 404,
			`changes.lifeline.dev \"ffffffffffffffffffffffffffffffff\" not found`,
		},
		"no ID":        {"namespaces/default/changes/web", "", 404, `changes.lifeline.dev \"web\" not found`},
		"prefix":       {"namespaces/default/changes/4bf92f35/why", "", 404, `not found`},
		"subresource":  {"namespaces/default/changes/-/nothing", "", 404, `not found`},
		"of none":      {"namespaces/default/changes/-/why", "", 404, `not found`},
		"of one":       {"changes/4bf92f3577b34da6a3ce929d0e0e4737/groups", "", 404, `not found`},
		"too deep":     {"changes/-/groups/more", "", 404, `not found`},
		"resource":     {"traces", "", 404, "could not find the requested resource"},
		"visible in":   {"namespaces/default/visiblechanges", "", 404, "could not find the requested resource"},
		"dots":         {"changes/../visiblechanges", "", 404, ""},
		"protobuf":     {"changes", "application/vnd.kubernetes.protobuf", 406, "accept application/json"},
		"limit":        {"changes?limit=x", "", 400, "no positive number"},
		"continue":     {"changes?continue=x", "", 400, "is not that of a list of changes"},
		"version":      {"changes?watch=1&resourceVersion=x", "", 400, "no resource version"},
		"stream":       {"visiblechanges?watch=1&stream=x", "", 400, "has no stream x"},
		"other stream": {"namespaces/default/changes?watch=1&stream=problems", "", 400, "has no stream problems"},
		"match":        {"changes?watch=1&sendInitialEvents=true", "", 400, "needs resourceVersionMatch"},
		"parameter":    {"changes/-/groups?x=1", "", 400, "unknown parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := c.get(t, tc.path, tc.accept)
			if code != tc.code || !strings.Contains(string(body), tc.want) {
				t.Errorf("status %d, want %d with %q: %s", code, tc.code, tc.want, body)
			}
		})
	}
	req := httptest.NewRequest(http.MethodDelete, c.url+Root+"/namespaces/default/changes/x", nil)
	req.RequestURI = ""
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("a deletion gets %d", res.StatusCode)
	}
}

// TestInner: each request reaches the API with its path, its namespace, and the right that was checked.
func TestInner(t *testing.T) {
	const id = "4bf92f3577b34da6a3ce929d0e0e4736"
	var got []string
	answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, _ := EndpointOf(r)
		ns, is := NamespaceOf(r.Context())
		in := "everywhere"
		if is {
			in = "in " + ns
		}
		got = append(got, fmt.Sprintf("%s %s/%s %s", r.URL.RequestURI(), e.Verb, e.Subresource, in))
		_, _ = io.WriteString(w, "{}")
	})
	h := Handler(answers, Options{AsOf: func() (at time.Time) { return now }})
	for path, want := range map[string]string{
		"namespaces/shop/changes":       "/api/v1/traces?limit=1000&namespace=shop list/ in shop",
		"changes":                       "/api/v1/traces?limit=1000 list/ everywhere",
		"visiblechanges":                "/api/v1/traces?limit=1000 list/ everywhere",
		"namespaces/shop/changes/" + id: "/api/v1/traces/" + id + "/tree get/ in shop",
		"visiblechanges/" + id:          "/api/v1/traces/" + id + "/tree get/tree everywhere",
		"namespaces/shop/changes/" + id + "/why?kind=Pod": "/api/v1/traces/" + id + "/why?kind=Pod get/why in shop",
		"namespaces/shop/changes/" + id + "/document?format=html": "/api/v1/traces/" + id +
			"?format=html get/document in shop",
		"namespaces/shop/changes/" + id + "/spans/b7ad6b7169203331": "/api/v1/traces/" + id +
			"/spans/b7ad6b7169203331 get/spans in shop",
		"namespaces/shop/changes/-/groups?by=kind":        "/api/v1/groups?by=kind get/groups in shop",
		"visiblechanges/-/traces/" + id + "/why?kind=Pod": "/api/v1/traces/" + id + "/why?kind=Pod get/why everywhere",
		"visiblechanges/-/info":                           "/api/v1/info get/info everywhere",
		"visiblechanges?watch=true&stream=watch&kind=Pod": "/api/v1/watch?kind=Pod watch/ everywhere",
		"visiblechanges?watch=true&stream=problems":       "/api/v1/problems/stream watch/problems everywhere",
		"namespaces/shop/changes?watch=true&resourceVersion=" + versionOf(now): "/api/v1/watch?" +
			url.Values{"namespace": {"shop"}, "view": {"summary"}, "ended": {now.Format(time.RFC3339Nano)}}.Encode() +
			" watch/ in shop",
	} {
		got = nil
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, Root+"/"+path, nil))
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}
