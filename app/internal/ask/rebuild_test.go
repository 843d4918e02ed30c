// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/cli/clitest"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

func TestFamily(t *testing.T) {
	s := &seen{states: map[types.UID]*observation.State{}}
	state := func(uid string, owners ...string) {
		o := &observation.State{Ref: object.Ref{Kind: object.Kind{Kind: "Thing"}, Name: uid, UID: types.UID(uid)}}
		for _, owner := range owners {
			o.Owners = append(o.Owners, object.Owner{UID: types.UID(owner), Controller: true})
		}
		s.add(&observation.Observation{State: o})
		s.add(&observation.Observation{Event: &observation.Event{UID: "event-" + uid, Regarding: o.Ref}})
	}
	state("deployment")
	state("old", "deployment")
	state("new", "deployment")
	state("pod-1", "new")
	state("pod-2", "new")
	state("claim", "pod-1")
	state("circle-1", "circle-2")
	state("circle-2", "circle-1")
	state("other")
	s.add(&observation.Observation{State: &observation.State{
		Ref: object.Ref{Kind: object.Kind{Version: "v1", Kind: "Pod"}, Name: "waiting", UID: "waiting"},
		Pod: &observation.Pod{}, Relations: []object.Relation{
			{Type: object.Claim, To: object.Name{Kind: "PersistentVolumeClaim", Name: "data"}},
		},
	}})
	for _, name := range []string{"data", "unused"} {
		s.add(&observation.Observation{State: &observation.State{
			Ref: object.Ref{
				Kind: object.Kind{Version: "v1", Kind: "PersistentVolumeClaim"}, Name: name, UID: types.UID(name),
			},
		}})
	}
	for _, name := range []string{"data", "waiting"} {
		s.add(&observation.Observation{
			Event: &observation.Event{Regarding: object.Ref{Name: name, UID: types.UID(name)}},
		})
	}
	s.add(&observation.Observation{Gone: &observation.Gone{Ref: object.Ref{UID: "pod-2"}}})
	cases := map[string]struct {
		reason string
		target types.UID
		up     []types.UID
		want   []string
	}{
		"Top": {"all that it owns, through others too", "deployment", []types.UID{"deployment"}, []string{
			"claim", "deployment", "new", "old", "pod-1", "pod-2",
		}},
		"Middle": {"its owner without that one's other dependants", "new", []types.UID{"new", "deployment"}, []string{
			"claim", "deployment", "new", "pod-1", "pod-2",
		}},
		"Leaf": {"no brothers", "pod-1", []types.UID{"pod-1", "new", "deployment"}, []string{
			"claim", "deployment", "new", "pod-1",
		}},
		"Alone": {"", "other", []types.UID{"other"}, []string{"other"}},
		"Pod": {"a Pod without a Node waits for its claims", "waiting", []types.UID{"waiting"}, []string{
			"data", "waiting",
		}},
		"Circle": {
			"owners in a circle end", "circle-1", []types.UID{"circle-1", "circle-2"}, []string{"circle-1", "circle-2"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := &family{target: tc.target, up: tc.up, seen: s}
			var states, events, gone []string
			for _, o := range f.observations() {
				switch {
				case o.State != nil:
					states = append(states, o.State.Name)
				case o.Event != nil:
					events = append(events, o.Event.Regarding.Name)
				case o.Gone != nil:
					gone = append(gone, string(o.Gone.UID))
				}
			}
			slices.Sort(states)
			slices.Sort(events)
			if diff := cmp.Diff(tc.want, states); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.want, events); diff != "" {
				t.Errorf("%s: Events: -want +got:\n%s", tc.reason, diff)
			}
			if len(gone) != count(tc.want, "pod-2") {
				t.Errorf("%s: removals of %v", tc.reason, gone)
			}
		})
	}
}

// count counts.
func count(in []string, text string) int {
	n := 0
	for _, s := range in {
		if s == text {
			n++
		}
	}
	return n
}

func TestTraceWithoutServer(t *testing.T) {
	cluster := clitest.New(t)
	cluster.Store(
		"p",
		"Pod",
		`{"metadata":{"ownerReferences":[{"apiVersion":"example.com/v1","kind":"Gone","name":"g","uid":"uid-g",`+
			`"controller":true}]},
		"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Pending"}}`,
	)
	cluster.Store("other", "Pod", `{"metadata":{},"status":{"phase":"Pending"}}`)
	cluster.Store("c", "ConfigMap", `{"metadata":{}}`)
	kinds := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"Pod", "ConfigMap", "Service"} {
		kinds.Add(schema.GroupVersionKind{Version: "v1", Kind: kind}, meta.RESTScopeNamespace)
	}
	empty := serve(t, "cluster-1")
	cases := map[string]struct {
		reason, name, output string
		server               cli.Server
		out, log             []string
		err                  string
	}{
		"Tree": {"the first line says what it is", "pod/p", cli.OutputTree, cli.Server{Direct: true}, []string{
			"^" + rebuiltMark, "reconcile Pod shop/p",
		}, []string{"cannot read Gone.example.com g, which owns it"}, ""},
		"JSON": {"a document has nothing else in it", "pod/p", cli.OutputJSON, cli.Server{Direct: true}, []string{
			`^{"resourceSpans"`, `"lifeline.time.source.start","value":{"stringValue":"object"}`,
		}, []string{rebuiltMark}, ""},
		"Server": {"a server that does not know it", "pod/p", cli.OutputTree, cli.Server{
			URL: empty.URL, Named: true,
		}, []string{"^" + rebuiltMark}, []string{"has no trace of Pod p in namespace shop"}, ""},
		"None": {"there is none", "pod/none", cli.OutputTree, cli.Server{
			Direct: true,
		}, nil, nil, "there is no Pod none in namespace shop, as far as you may read"},
		"Silent": {"nobody reconciles it", "configmap/c", cli.OutputTree, cli.Server{
			Direct: true,
		}, nil, nil, "no history can be rebuilt from ConfigMap c in namespace shop: "},
		"Kind": {"the cluster has no such kind", "frob/x", cli.OutputTree, cli.Server{
			Direct: true,
		}, nil, nil, "cannot trace frob/x: the cluster has no kind"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o, out, log := asking(tc.output)
			o.Kubeconfig, o.Mapper = cluster.Kubeconfig(t), func() (meta.RESTMapper, error) { return kinds, nil }
			c := Trace{Options: o, Server: tc.server, Name: tc.name, Namespace: "shop"}
			code, err := c.Run(t.Context())
			if (code != cli.CodeOK) != (tc.err != "") || (err != nil) != (tc.err != "") ||
				err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: code %d, %v, want %q", tc.reason, code, err, tc.err)
			}
			for _, want := range tc.out {
				begin, isBegin := strings.CutPrefix(want, "^")
				if isBegin && !strings.HasPrefix(
					out.String(), begin,
				) || !isBegin && !strings.Contains(out.String(), want) {
					t.Errorf("%s: standard output lacks %q:\n%s", tc.reason, want, out)
				}
			}
			if strings.Contains(out.String(), "other") {
				t.Errorf("%s: another Pod's is printed:\n%s", tc.reason, out)
			}
			for _, want := range tc.log {
				if !strings.Contains(log.String(), want) {
					t.Errorf("%s: standard error lacks %q:\n%s", tc.reason, want, log)
				}
			}
		})
	}
}
