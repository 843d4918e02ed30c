// SPDX-License-Identifier: Apache-2.0

package rights

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// tenant is a user of one namespace.
type tenant struct {
	asker
	// behind sends requests to the API server, which hands them on.
	behind    asker
	namespace string
	// mark is a part of the names of all objects of the tenant.
	mark string
	// ids are the traces of the tenant alone. cursor is that of a page of all traces.
	ids    []string
	cursor string
}

// newTenant makes a namespace, a Deployment in it, and a ServiceAccount that may see all changes there.
func newTenant(t *testing.T, s serverOf, mark string) *tenant {
	t.Helper()
	namespace, token := viewer(t, "all-of-changes")
	bench.MustKubectl(t, "", "create", "deployment", mark, "--image=nginx", "--replicas=2", "-n", namespace)
	bench.MustKubectl(t, "", "rollout", "status", "deployment/"+mark, "-n", namespace, "--timeout=2m")
	bench.MustKubectl(t, "", "create", "secret", "generic", mark+"-secret", "-n", namespace)
	return &tenant{
		asker: as(t, s.APIAddress(), nil, bearer(token)), namespace: namespace, mark: mark,
		behind: as(t, apiServer(t), nil, bearer(tokenOf(t, namespace, ""))),
	}
}

// apiServer returns the address of the API server.
func apiServer(t *testing.T) string {
	t.Helper()
	conf, err := clientcmd.BuildConfigFromFlags("", bench.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(conf.Host, "https://")
}

// row is a trace of a list.
type row struct {
	TraceID string `json:"traceId"`
	Open    bool   `json:"open"`
	Object  struct{ Namespace, Name string }
}

func rows(t *testing.T, a asker) []row {
	t.Helper()
	code, body := a.get(t, "/api/v1/traces?limit=1000")
	var page struct{ Traces []row }
	if code != http.StatusOK || json.Unmarshal([]byte(body), &page) != nil {
		t.Fatalf("got %d %.300s", code, body)
	}
	return page.Traces
}

// TestTenants: whatever a tenant asks, at the server or through the API server, no answer has a name of another
// tenant, and what is hidden has the answer and the headers of what does not exist.
func TestTenants(t *testing.T) {
	s := serveBehind(t)
	shop, bank := newTenant(t, s, "markshop"), newTenant(t, s, "markbank")
	// A change of a Node that removes Pods of both.
	node := strings.Fields(bench.MustKubectl(t, "", "get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"))[0]
	bench.MustKubectl(t, "", "taint", "node", node, "test=x:NoExecute")
	bench.MustKubectl(t, "", "taint", "node", node, "test-")
	for _, of := range []*tenant{shop, bank} {
		bench.MustKubectl(t, "", "rollout", "status", "deployment/"+of.mark, "-n", of.namespace, "--timeout=2m")
	}
	everyone := as(t, s.APIAddress(), admin(t), nil)
	harness.Eventually(t, "the end of all changes", func() bool {
		all := rows(t, everyone)
		for _, of := range []*tenant{shop, bank} {
			of.ids = nil
		}
		for _, r := range all {
			if r.Open {
				return false
			}
			for _, of := range []*tenant{shop, bank} {
				if r.Object.Namespace == of.namespace {
					of.ids = append(of.ids, r.TraceID)
				}
			}
		}
		return len(shop.ids) > 1 && len(bank.ids) > 1
	})
	var page struct{ Next string }
	_, body := everyone.get(t, "/api/v1/traces?limit=3")
	if json.Unmarshal([]byte(body), &page) != nil || page.Next == "" {
		t.Fatalf("there is no next page: %.300s", body)
	}
	shop.cursor, bank.cursor = page.Next, page.Next
	requests := 5000
	if testing.Short() {
		requests = 500
	}
	var all sync.WaitGroup
	for _, pair := range [][2]*tenant{{shop, bank}, {bank, shop}} {
		all.Go(func() { pair[0].pry(t, pair[0].asker, pair[1], paths, requests) })
		all.Go(func() { pair[0].pry(t, pair[0].behind, pair[1], pair[0].behindPaths(pair[1]), requests/5) })
	}
	all.Wait()
	shop.time(t, bank)
	s.Stop(t)
	if strings.Contains(s.Log(), "met a bug") {
		t.Error("a request met a bug")
	}
}

// paths are the paths of the API, with the names of parameters that may name something of another tenant.
var paths = map[string][]string{
	"/api/v1/info": nil, "/api/v1/sources": nil, "/api/v1/fields": nil,
	"/api/v1/problems": {"namespace", "name", "kind", "limit"},
	"/api/v1/traces": {
		"namespace", "name", "kind", "id", "where", "slowerThan", "outcome", "state", "limit", "after",
	},
	"/api/v1/lifecycles": {"where", "namespace", "limit", "after"},
	"/api/v1/groups":     {"where", "namespace", "by", "of", "changes"},
	"/api/v1/density":    {"where", "namespace", "name", "kind", "outcome"},
	"/api/v1/writes":     {"namespace", "name", "kind", "traceId", "limit", "after"},
	"/api/v1/traces/ID":  {"format"}, "/api/v1/traces/ID/why": {"kind", "namespace", "name"},
	"/api/v1/traces/ID/tree": nil, "/api/v1/traces/ID/spans/0123456789abcdef": nil,
	"/api/v1/traces/ID/find": {"text"}, "/api/v1/traces/ID/causes": {"across"},
	"/api/v3/services": nil, "/api/v3/operations": {"service"}, "/api/v3/traces/ID": nil, "/api/services": nil,
	"/api/traces/ID": nil, "/api/traces": {"service", "limit"}, "/api/v1/openapi.json": nil, "/api/v1/nothing": nil,
}

// group is the path of the API behind the API server.
const group = "/apis/lifeline.dev/v1alpha1/"

// behindPaths returns the paths of the API server: visiblechanges has those of the server, and changes of a namespace
// has lists, objects and subresources.
func (a *tenant) behindPaths(other *tenant) map[string][]string {
	out := map[string][]string{group + "visiblechanges/ID": nil}
	lists := []string{"limit", "continue", "fieldSelector", "labelSelector"}
	out[group+"visiblechanges"], out[group+"changes"] = lists, lists
	for path, params := range paths {
		rest, ours := strings.CutPrefix(path, "/api/v1/")
		if !ours {
			continue
		}
		out[group+"visiblechanges/-/"+rest] = params
		for _, namespace := range []string{a.namespace, other.namespace} {
			at := group + "namespaces/" + namespace + "/changes"
			out[at], out[at+"/ID"], out[at+"/ID/document"] = lists, nil, []string{"format"}
			if of, one := strings.CutPrefix(rest, "traces/ID/"); one {
				out[at+"/ID/"+of] = params
			} else if !strings.Contains(rest, "/") {
				out[at+"/-/"+rest] = params
			}
		}
	}
	return out
}

// continued returns a cursor of the server as one of the API server's list.
func continued(cursor string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"a":%q,"n":0,"v":"1"}`, cursor))
}

// pry sends random requests about another tenant, each also about one that does not exist.
func (a *tenant) pry(t *testing.T, door asker, other *tenant, paths map[string][]string, requests int) {
	random := rand.New(rand.NewPCG(55, uint64(len(a.namespace)+len(paths))))
	var names []string
	for path := range paths {
		names = append(names, path)
	}
	slices.Sort(names)
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	failed := 0
	began, sent := time.Now(), 0
	defer func() {
		t.Logf("%s at %s: %d requests, each twice, in %s", a.namespace, door.url, sent, time.Since(began))
	}()
	for range requests {
		sent++
		id := one(one(a.ids...), one(other.ids...), one(other.ids...)[:8+random.IntN(24)])
		path := strings.Replace(one(names...), "ID", id, 1)
		q := url.Values{}
		for _, name := range paths[strings.Replace(path, id, "ID", 1)] {
			if random.IntN(3) > 0 {
				continue
			}
			q.Set(name, map[string]func() string{
				"namespace":     func() string { return one(a.namespace, other.namespace) },
				"name":          func() string { return one(a.mark, other.mark, "web") },
				"kind":          func() string { return one("Pod", "Deployment", "Secret", "Namespace", "Node") },
				"id":            func() string { return one(one(a.ids...), one(other.ids...)) },
				"traceId":       func() string { return one(one(a.ids...), one(other.ids...)) },
				"where":         func() string { return fmt.Sprintf(one(questions...), one(other.mark, other.namespace)) },
				"by":            func() string { return one("namespace", "name", "kind", "node") },
				"of":            func() string { return "duration" },
				"slowerThan":    func() string { return one("1ms", "1s", "1h") },
				"outcome":       func() string { return one("converged", "failed", "deleted") },
				"state":         func() string { return one("converged", "stuck", "running") },
				"limit":         func() string { return one("1", "2", "1000") },
				"after":         func() string { return one("AAAA", "x", other.cursor, other.cursor) },
				"changes":       func() string { return "true" },
				"across":        func() string { return "true" },
				"format":        func() string { return one("otlp", "perfetto", "mermaid", "html") },
				"text":          func() string { return one(other.mark, other.namespace, "nginx") },
				"continue":      func() string { return one("AAAA", continued("AAAA"), continued(other.cursor)) },
				"labelSelector": func() string { return one("lifeline.dev/state=converged", "app="+other.mark) },
				"fieldSelector": func() string {
					return one("metadata.name="+one(other.ids...), "involvedObject.name="+other.mark,
						"involvedObject.namespace="+other.namespace, "involvedObject.kind=Secret")
				},
				"service": func() string { return one("kubelet", "deployment-controller", other.mark) },
			}[name]())
		}
		if failed > 10 {
			return
		}
		if !a.same(t, door, other, path, q.Encode()) {
			failed++
		}
	}
}

// questions are conditions on a lifecycle, with a place for a name.
var questions = []string{
	`name.startsWith(%q)`, `namespace == %q`, `name != %q`, `owner.name.startsWith(%q) || duration > duration("1s")`,
	`kind == "Pod" && namespace != %q`, `"app" in labels && labels["app"] == %q`,
}

// moment is a time, a number of nanoseconds, an age or a version of a list.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|"?[a-z_]*(?i:duration|ns|nano)[a-z_]*"?:\d+|\w+ ago|` +
	`"resourceVersion":"\d*"|"(\d+(\.\d+)?(ms|s|m|h|d))+"`)

// same sends a request, and the same one about what does not exist. It reports whether the answers are the same, and
// have nothing of the other tenant.
func (a *tenant) same(t *testing.T, door asker, other *tenant, path, query string) bool {
	nowhere := strings.NewReplacer(other.mark, absent(other.mark), other.namespace, absent(other.namespace))
	ids := strings.NewReplacer(pairs(other.ids, a.ids)...)
	as := func(text string) string { return ids.Replace(nowhere.Replace(text)) }
	got := door.ask(t, path+"?"+query)
	asked := strings.Contains(path+query, other.mark) || strings.Contains(path+query, other.namespace)
	if !asked && (strings.Contains(got.body, other.mark) || strings.Contains(got.body, other.namespace)) {
		t.Errorf("%s?%s: the answer has a name of another tenant: %d %.2000s", path, query, got.code, got.body)
		return false
	}
	if got.code >= http.StatusInternalServerError && got.code != http.StatusServiceUnavailable {
		t.Errorf("%s?%s: got %d %.500s", path, query, got.code, got.body)
		return false
	}
	want := door.ask(t, as(path)+"?"+as(query))
	got.head, got.body = as(got.head), moment.ReplaceAllString(as(got.body), "T")
	want.body = moment.ReplaceAllString(want.body, "T")
	if got != want {
		t.Errorf("%s?%s: got %d, want %d as for what does not exist:\n%s\n%.600s\n%s\n%.600s",
			path, query, got.code, want.code, got.head, got.body, want.head, want.body)
		return false
	}
	return true
}

// time measures whether the time of an answer shows that a change exists. It is a figure, and no test.
func (a *tenant) time(t *testing.T, other *tenant) {
	const pairs = 200
	random := rand.New(rand.NewPCG(55, 1))
	for _, path := range []string{"", "/why", "/tree", "/causes"} {
		var took [2][]time.Duration
		for i := range pairs {
			ids := [2]string{other.ids[i%len(other.ids)], fmt.Sprintf("%016x%016x", random.Uint64(), random.Uint64())}
			for k := range ids {
				k = (k + i) % 2 // each of both comes first as often
				began := time.Now()
				code, body := a.get(t, "/api/v1/traces/"+ids[k]+path)
				took[k] = append(took[k], time.Since(began))
				if code != http.StatusNotFound && path != "/causes" {
					t.Errorf("%s: got %d %.300s", path, code, body)
				}
			}
		}
		for k := range took {
			slices.Sort(took[k])
		}
		hidden, absent := took[0][pairs/2], took[1][pairs/2]
		t.Logf("traces/ID%s: median of a hidden change %s, of an absent one %s: ratio %.2f", path, hidden, absent,
			float64(hidden)/float64(absent))
	}
}

// absent returns a name of the same form that nothing has.
func absent(name string) string { return strings.Repeat("z", len(name)) }

// pairs returns each ID, or its beginning, with one of the same form that no trace has.
func pairs(others, own []string) []string {
	var out []string
	for _, id := range others {
		out = append(out, id, "ffffffff"+id[8:])
	}
	for _, id := range others {
		unique := true
		for _, mine := range own {
			unique = unique && mine[:8] != id[:8]
		}
		if unique {
			out = append(out, id[:8], "ffffffff")
		}
	}
	return out
}
