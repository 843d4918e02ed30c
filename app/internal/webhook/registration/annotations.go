// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"

	"github.com/kube-lifeline/lifeline"
)

// bearers are the kinds whose objects may carry a context, by their kubectl names: pods,
// deployments.apps. An error with results names the APIs that do not answer.
func bearers(client discovery.DiscoveryInterface) ([]string, error) {
	lists, err := client.ServerPreferredResources()
	var kinds []string
	for _, list := range lists {
		gv, bad := schema.ParseGroupVersion(list.GroupVersion)
		if bad != nil {
			continue
		}
		for _, r := range list.APIResources {
			gr := schema.GroupResource{Group: gv.Group, Resource: r.Name}
			if isExcluded(gr, nil) || !isName(gr) || !slices.Contains(r.Verbs, "list") ||
				!slices.Contains(r.Verbs, "patch") {
				continue
			}
			kinds = append(kinds, gr.String())
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds), err
}

// isName excludes invalid resource names, because they become part of a command.
func isName(gr schema.GroupResource) bool {
	return len(validation.IsDNS1035Label(gr.Resource)) == 0 &&
		(gr.Group == "" || len(validation.IsDNS1123Subdomain(gr.Group)) == 0)
}

// keys returns the annotations of a convention.
func keys(c lifeline.Convention) []string {
	var state trace.TraceState
	state, _ = state.Insert("a", "b")
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceState: state,
	})
	return slices.Sorted(maps.Keys(c.Encode(sc, baggage.Baggage{})))
}

// printLeft lists the annotations that stay on objects, and the command to remove them.
func (c *Uninstall) printLeft(kinds []string) {
	removed := keys(c.Convention)
	for i, key := range removed {
		removed[i] = key + "-"
	}
	fmt.Fprintf(c.Out, `
Contexts stay on objects as annotations, and mean nothing any more. Objects of %d kinds may carry some.
This removes them. Each removal is a write, and a Deployment's is followed by one of its ReplicaSet:

for kind in %s; do
  kubectl annotate "$kind" --all --all-namespaces %s
done
`, len(kinds), strings.Join(kinds, " "), strings.Join(removed, " "))
}
