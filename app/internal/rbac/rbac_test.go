// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

var update = flag.Bool("update", false, "write the golden files anew")

func offered(group, resource string, namespaced bool) watch.Offered {
	return watch.Offered{GroupResource: schema.GroupResource{Group: group, Resource: resource}, Namespaced: namespaced}
}

func TestWrite(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(*config.ServerConfiguration)
		offered []watch.Offered
	}{
		"cluster": {"everything that Kubernetes has of itself", func(*config.ServerConfiguration) {}, BuiltIn()},
		"namespaces": {
			"no right outside of them", func(c *config.ServerConfiguration) {
				c.Watch.Namespaces = []string{"shop", "123"}
			}, BuiltIn(),
		},
		"standby": {"two Leases, by name", func(c *config.ServerConfiguration) {
			c.Replicas.Mode, c.Watch.Exclude = config.ModeStandby, []string{"configmaps", "events", "namespaces"}
		}, []watch.Offered{
			offered("", "configmaps", true), offered("", "events", true), offered("", "namespaces", false),
			offered("", "pods", true),
		}},
		"leases": {"Leases in a namespace of their own", func(c *config.ServerConfiguration) {
			c.Replicas.Mode, c.Replicas.Namespace = config.ModeStandby, "leases"
		}, []watch.Offered{offered("", "pods", true)}},
		"certificate": {"one Secret and one configuration, by name", func(c *config.ServerConfiguration) {
			c.Webhook.Endpoint.Address, c.Webhook.Certificate.Managed = ":9443", true
		}, []watch.Offered{offered("", "pods", true)}},
		"custom": {"what a server offers under no name of a resource is left out, and so are Secrets",
			func(c *config.ServerConfiguration) {
				c.Watch.Exclude = []string{"*.noisy.example.com", "heads.example.com"}
			}, []watch.Offered{
				offered("example.com", "tails", true), offered("example.com", "heads", true),
				offered("noisy.example.com", "beeps", true),
				offered("", "secrets", true), offered("", "*", true), offered("*", "pods", true),
				offered("a\nb", "pods", true), offered("x.example.com", "a\"b", true),
				offered("events.k8s.io", "events", true), offered("", "events", true),
				offered("coordination.k8s.io", "leases", true),
			}},
		"relations": {"a relation precedes the default exclusions, not the user's, and grants no Secrets",
			func(c *config.ServerConfiguration) {
				c.Watch.Exclude = []string{"heads.example.com"}
				of := func(group, kind string) config.ObjectKindConfiguration {
					return config.ObjectKindConfiguration{Group: group, Kind: kind}
				}
				c.Relations = []config.RelationConfiguration{
					{Name: "a", From: of("example.com", "Head"), To: of("", "Endpoints"), Match: "from.a == to.a"},
					{Name: "b", From: of("example.com", "Database"), To: of("", "Pod"), Match: "from.a == to.a"},
				}
			}, withGuessed(BuiltIn(), []schema.GroupKind{
				{Group: "example.com", Kind: "Head"}, {Kind: "Endpoints"}, {Group: "example.com", Kind: "Database"},
				{Kind: "Pod"},
			})},
		"secrets": {"the metadata of Secrets, by choice", func(c *config.ServerConfiguration) {
			c.Watch.SecretMetadata = true
		}, []watch.Offered{offered("", "pods", true), offered("", "secrets", true)}},
		"both": {"and a managed certificate beside it", func(c *config.ServerConfiguration) {
			c.Watch.SecretMetadata, c.Webhook.Certificate.Managed = true, true
		}, []watch.Offered{offered("", "secrets", true)}},
		"callers": {"who callers are, and one Secret by name", func(c *config.ServerConfiguration) {
			c.API.Authorization, c.API.Aggregation.Address = config.AuthorizationKubernetes, ":7443"
			c.API.Aggregation.Secret = "lifeline-api"
		}, []watch.Offered{offered("", "pods", true)}},
		"front-proxy": {"one ConfigMap of the API server", func(c *config.ServerConfiguration) {
			c.API.Authorization, c.API.Aggregation.FrontProxy = config.AuthorizationKubernetes, true
		}, nil},
		"nothing": {"", func(*config.ServerConfiguration) {}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := config.Default()
			tc.change(c)
			var got bytes.Buffer
			if err := Write(&got, Options{
				Config: c, Offered: tc.offered, Namespace: "observability", Name: "lifeline",
			}); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			for _, role := range decode(t, got.String()) {
				least(t, role, c)
			}
		})
	}
}

// decode decodes manifests strictly, by their types, and checks that every role is bound. It
// returns their rules by role.
func decode(t *testing.T, text string) map[string][]rbacv1.PolicyRule {
	t.Helper()
	rules, bound := map[string][]rbacv1.PolicyRule{}, map[string]bool{}
	id := func(kind string, m metav1.ObjectMeta) string { return kind + " " + m.Namespace + "/" + m.Name }
	into := func(doc string, object any) {
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
	}
	for _, doc := range strings.Split(text, "---\n")[1:] {
		var m metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			t.Fatal(err)
		}
		switch m.Kind {
		case "ServiceAccount":
			into(doc, &corev1.ServiceAccount{})
		case "ClusterRole":
			var r rbacv1.ClusterRole
			into(doc, &r)
			rules[id(m.Kind, m.ObjectMeta)] = r.Rules
		case "Role":
			var r rbacv1.Role
			into(doc, &r)
			rules[id(m.Kind, m.ObjectMeta)] = r.Rules
		case "ClusterRoleBinding":
			var b rbacv1.ClusterRoleBinding
			into(doc, &b)
			bound["ClusterRole /"+b.RoleRef.Name] = true
		case "RoleBinding":
			var b rbacv1.RoleBinding
			into(doc, &b)
			bound["Role "+b.Namespace+"/"+b.RoleRef.Name] = true
		default:
			t.Fatalf("unexpected %s", m.Kind)
		}
	}
	for role := range rules {
		if !bound[role] {
			t.Errorf("%s is not bound", role)
		}
	}
	return rules
}

// least checks for minimal rights: only Leases are written, Secrets are not read, and no rule has a
// wildcard. A managed certificate is read and written, by its name alone. Reviews of callers are created.
func least(t *testing.T, rules []rbacv1.PolicyRule, of *config.ServerConfiguration) {
	t.Helper()
	for _, r := range rules {
		for _, all := range [][]string{r.APIGroups, r.Resources, r.Verbs} {
			if len(all) == 0 || slices.Contains(all, "*") {
				t.Errorf("empty, or a wildcard: %v", r)
			}
		}
		if c := of.Webhook.Certificate; c.Managed && own(r, c) {
			continue
		}
		if c := of.API; c.Authorization == config.AuthorizationKubernetes && ofCallers(r, c.Aggregation.Secret) {
			continue
		}
		if slices.Contains(r.Resources, "secrets") && !of.Watch.SecretMetadata {
			t.Errorf("Secrets: %v", r)
		}
		leases := slices.Equal(r.Resources, []string{"leases"})
		for _, verb := range r.Verbs {
			if !leases && !slices.Contains(read, verb) {
				t.Errorf("more than reading: %v", r)
			}
		}
	}
}

// ofCallers reports whether a rule is required to know callers. Reviews are created and not stored.
func ofCallers(r rbacv1.PolicyRule, secret string) bool {
	reviews := slices.Equal(r.Verbs, []string{"create"}) && (slices.Equal(r.Resources, []string{"tokenreviews"}) ||
		slices.Equal(r.Resources, []string{"subjectaccessreviews"}))
	return reviews || secret != "" && slices.Equal(r.Verbs, []string{"get"}) &&
		slices.Equal(r.Resources, []string{"secrets"}) && slices.Equal(r.ResourceNames, []string{secret})
}

// own reports whether a rule is required for a managed certificate.
func own(r rbacv1.PolicyRule, c config.CertificateConfiguration) bool {
	is := func(resource, name string, verbs ...string) bool {
		var names []string
		if name != "" {
			names = []string{name}
		}
		return slices.Equal(r.Resources, []string{resource}) && slices.Equal(r.ResourceNames, names) &&
			slices.Equal(r.Verbs, verbs)
	}
	return is("secrets", "", "create") || is("secrets", c.Name, "get", "update") ||
		is("mutatingwebhookconfigurations", c.Configuration, "get", "patch")
}

func TestWriteRefuses(t *testing.T) {
	cases := map[string]struct{ name, namespace, want string }{
		"Name": {
			"a: b", "x", `cannot make manifests with the name "a: b": it must be a DNS label, small letters, digits ` +
				`and '-'`,
		},
		"Namespace": {
			"a", "", `cannot make manifests with the namespace "": it must be a DNS label, small letters, digits and ` +
				`'-'`,
		},
		"Long": {
			strings.Repeat("a", 60), "x", `cannot make manifests with the name "` + strings.Repeat("a", 60) +
				`": it must not be longer than 51 characters`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Write(&out, Options{Config: config.Default(), Namespace: tc.namespace, Name: tc.name})
			if err == nil || err.Error() != tc.want || out.Len() > 0 {
				t.Errorf("got %v and %q, want %s", err, &out, tc.want)
			}
		})
	}
}

// TestBuiltIn compares the table with the client library's types.
func TestBuiltIn(t *testing.T) {
	have := map[schema.GroupResource]bool{}
	for _, r := range BuiltIn() {
		have[r.GroupResource] = true
	}
	// Resources with a list that must not be watched.
	none := map[schema.GroupResource]bool{
		{Resource: "componentstatuses"}:                                   true,
		{Group: "internal.apiserver.k8s.io", Resource: "storageversions"}: true,
	}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		list := gvk.GroupVersion().WithKind(gvk.Kind + "List")
		if gvk.Version != "v1" || !scheme.Scheme.Recognizes(list) || strings.HasPrefix(gvk.Kind, "API") &&
			gvk.Group == "" || gvk.Kind == "List" {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		gr := plural.GroupResource()
		if !have[gr] && !none[gr] {
			t.Errorf("%s is missing", gr)
		}
	}
}
