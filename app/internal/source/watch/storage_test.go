// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	thingsPath      = "/apis/apart.example.com/v1/things"
	apiServicesPath = "/apis/apiregistration.k8s.io/v1/apiservices"
)

// TestStorages checks the place of objects with resourceVersions of their own.
func TestStorages(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(f *fakeAPI)
		want   string
	}{
		"Aggregated": {
			reason: "a place after each version of the cluster's storage, and each earlier one of the object",
			want: "Thing/t 6 order 103, Thing/t 7 order 104, Deployment/d 103, Thing/t 8 order 105, gone " +
				"Thing/t 9 order 106",
		},
		"SameStorage": {
			reason: "an aggregated API in the cluster's storage needs no place",
			change: func(f *fakeAPI) { f.others = nil },
			want:   "Thing/t 103, Thing/t 104, Deployment/d 105, Thing/t 106, gone Thing/t 107",
		},
		"Unreadable": {
			reason: "without a right to read APIServices, the resourceVersions count as comparable",
			change: func(f *fakeAPI) { f.refuse[apiServicesPath] = http.StatusForbidden },
			want:   "Thing/t 6, Thing/t 7, Deployment/d 103, Thing/t 8, gone Thing/t 9",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f, other := newFakeAPI(t), newFakeAPI(t)
			things := []kindOffered{{"things", "Thing", true}}
			other.version, other.kinds = 5, map[string][]kindOffered{"apart.example.com/v1": things}
			f.with(func() {
				f.kinds["apart.example.com/v1"] = things
				f.others = map[string]*fakeAPI{thingsPath: other}
			})
			f.put(apiServicesPath, "", "v1.apart.example.com", "spec", map[string]any{
				"group": "apart.example.com", "version": "v1", "service": map[string]any{"name": "apart"},
			})
			f.put(deploymentsPath, "default", "d")
			if tc.change != nil {
				f.with(func() { tc.change(f) })
			}
			home := other
			if f.others == nil {
				home = f
			}
			wd := watching(t, f)
			if err := wd.Watch(t.Context(), Scope{}); err != nil {
				t.Fatal(err)
			}
			wd.present()
			happen := func(version int) {
				wd.await("the version", func() bool {
					return strings.Contains(wd.lines[len(wd.lines)-1]+" ", fmt.Sprintf(" %d ", version))
				})
			}
			happen(home.put(thingsPath, "default", "t"))
			happen(home.put(thingsPath, "default", "t"))
			happen(f.put(deploymentsPath, "default", "d"))
			happen(home.put(thingsPath, "default", "t"))
			happen(home.remove(thingsPath, "default", "t"))
			wd.mu.Lock()
			defer wd.mu.Unlock()
			var got []string
			for _, line := range wd.lines {
				if !strings.HasPrefix(line, "baseline ") {
					got = append(got, line)
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
