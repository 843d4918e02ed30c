// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/e2e/internal/stored"
	"github.com/kube-lifeline/lifeline/lab/audit"
)

// TestTruth: which writes are to desired state.
func TestTruth(t *testing.T) {
	const (
		argo    = accounts + "argocd:argocd-application-controller"
		capi    = accounts + "capi-system:cluster-api"
		release = "sh.helm.release.v1.shop.v1"
	)
	write := func(user, verb, resource, name, version, object string) audit.Write {
		code := 200
		if verb == "create" {
			code = 201
		}
		return audit.Write{
			User: user, Verb: verb, Code: code, Resource: resource, Name: name, UID: name, ResourceVersion: version,
			Object: []byte(object),
		}
	}
	for name, tc := range map[string]struct {
		reason string
		all    []audit.Write
		want   []string // VERB VERSION
	}{
		"Operation": {
			reason: "Argo CD removes the field operation when it begins the sync",
			all: []audit.Write{
				write(userA, "create", "applications", "a", "1", `{"spec":{"p":1}}`),
				write(userA, "patch", "applications", "a", "2", `{"spec":{"p":1},"operation":{"sync":{}}}`),
				write(argo, "patch", "applications", "a", "3", `{"spec":{"p":1}}`),
				write(argo, "patch", "applications", "a", "4", `{"spec":{"p":1},"operation":{"sync":{}}}`),
			},
			want: []string{"create 1", "update 2", "update 4"},
		},
		"Release": {
			reason: "an update of Helm's record is a status, but one to uninstalling begins the deletion",
			all: []audit.Write{
				write(userA, "create", "configmaps", release, "1",
					`{"metadata":{"labels":{"status":"pending-install"}}}`),
				write(userA, "update", "configmaps", release, "2", `{"metadata":{"labels":{"status":"deployed"}}}`),
				write(userB, "update", "configmaps", release, "3", `{"metadata":{"labels":{"status":"uninstalling"}}}`),
				write(userB, "delete", "configmaps", release, "4", `{"metadata":{"labels":{"status":"uninstalling"}}}`),
			},
			want: []string{"create 1", "delete 3"},
		},
		"Copies": {
			reason: "Cluster API copies fields from the objects of the providers",
			all: []audit.Write{
				write(capi, "create", "machines", "m", "1", `{"spec":{"bootstrap":{"configRef":"c"}}}`),
				write(capi, "patch", "machines", "m", "2",
					`{"spec":{"bootstrap":{"configRef":"c","dataSecretName":"s"},"providerID":"p"}}`),
				write(capi, "patch", "machines", "m", "3",
					`{"spec":{"bootstrap":{"configRef":"c","dataSecretName":"s"},"providerID":"p","version":"v2"}}`),
			},
			want: []string{"create 1", "update 3"},
		},
		"Secrets": {
			reason: "no server sees them",
			all:    []audit.Write{write(userA, "create", "secrets", "s", "1", `{"data":{}}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := truthOf(tc.all, 0)
			var got []string
			for i := range is.writes {
				got = append(got, stored.VerbOf(&is.writes[i])+" "+is.writes[i].ResourceVersion)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestShortUser: scenarios name a service account without its namespace.
func TestShortUser(t *testing.T) {
	for user, want := range map[string]string{
		userA: userA,
		"system:serviceaccount:flux-system:source-controller": "source-controller",
		"system:kube-scheduler":                               "kube-scheduler",
	} {
		if got := shortUser(user); got != want {
			t.Errorf("shortUser(%q) = %q, want %q", user, got, want)
		}
	}
}
