// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

// TestSayUnread: a user learns which kinds the answer lacks, and never that nothing is broken where nothing was read.
func TestSayUnread(t *testing.T) {
	resources := func(readable string, unread ...string) []watch.ResourceStats {
		var out []watch.ResourceStats
		if readable != "" {
			out = append(out, watch.ResourceStats{Resource: schema.ParseGroupResource(readable), Streams: 1})
		}
		for _, name := range unread {
			out = append(out, watch.ResourceStats{
				Resource: schema.ParseGroupResource(name), Streams: 1, Unreadable: 1,
			})
		}
		return out
	}
	shop := watch.Scope{Namespaces: []string{"shop"}}
	for name, tc := range map[string]struct {
		all       []watch.ResourceStats
		scope     watch.Scope
		said, err string
	}{
		"All":       {resources("pods"), shop, "", ""},
		"Stateless": {resources("pods", "secrets", "customresourcedefinitions.apiextensions.k8s.io"), shop, "", ""},
		"Some": {
			resources("pods", "jobs.batch", "widgets.example.com"), shop,
			"you may not read jobs.batch, widgets.example.com: what is broken among them is not known", "",
		},
		"Many": {
			resources("pods", "a", "b", "c", "d", "e", "f", "g"), shop,
			"you may not read a, b, c, d, e and 2 more kinds: ", "",
		},
		"None":      {resources("", "pods", "secrets"), shop, "", "you may read nothing in namespace shop: "},
		"Cluster":   {resources("", "pods"), watch.Scope{}, "", "you may read nothing in the cluster: "},
		"Discovery": {nil, shop, "", ""},
	} {
		o, _, log := asking(textOutput)
		err := sayUnread(&o, tc.all, tc.scope)
		if (err != nil) != (tc.err != "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
			t.Errorf("%s: got %v, want %q", name, err, tc.err)
		}
		if !strings.Contains(log.String(), tc.said) || (tc.said == "") != (log.String() == "") {
			t.Errorf("%s: got %q, want %q", name, log, tc.said)
		}
	}
}
