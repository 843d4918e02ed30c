// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/kube-lifeline/lifeline"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestPrint compares manifests with golden files; -update rewrites them.
func TestPrint(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*Options)
	}{
		"service": {"the usual", func(*Options) {}},
		"url": {"a server outside; each exclusion appears once", func(o *Options) {
			o.Service, o.URL, o.Observe = Service{}, "https://192.0.2.1:9443/admission", false
			o.CA = []byte("PEM")
			o.ExcludeNamespaces = []string{"ci", "tracing", "ci"}
			o.Exclude = []schema.GroupResource{
				{Group: "noisy.example.com"}, {Group: "example.com", Resource: "heads"}, {Resource: "secrets"},
			}
		}},
		"cert-manager": {"its annotation", func(o *Options) {
			o.Certificate, o.Observe = types.NamespacedName{Namespace: "tracing", Name: "hook"}, false
		}},
	} {
		t.Run(name, func(t *testing.T) {
			o := valid()
			tc.change(&o)
			var out bytes.Buffer
			if code, err := (&Print{o, &out}).Run(t.Context()); code != 0 || err != nil {
				t.Fatal(code, err)
			}
			golden := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, out.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), out.String()); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func stored(t *testing.T, client *fake.Clientset) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	c, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "lifeline",
		metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestInstallKeepsAuthorities: authorities written by the server stay, also when flags change.
func TestInstallKeepsAuthorities(t *testing.T) {
	client := fake.NewClientset()
	install := &Install{Options: valid()}
	if done, err := install.apply(t.Context(), client); err != nil || done != "created" {
		t.Fatal(done, err)
	}
	c := stored(t, client)
	for i := range c.Webhooks {
		c.Webhooks[i].ClientConfig.CABundle = []byte("written by the server")
	}
	if _, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Update(t.Context(), c,
		metav1.UpdateOptions{FieldManager: "server"}); err != nil {
		t.Fatal(err)
	}
	install.ExcludeNamespaces = []string{"ci"}
	if _, err := install.apply(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	c = stored(t, client)
	for _, w := range c.Webhooks {
		if string(w.ClientConfig.CABundle) != "written by the server" ||
			len(w.NamespaceSelector.MatchExpressions[0].Values) != 5 {
			t.Errorf("%s is %+v", w.Name, w)
		}
	}
	install.CA, install.Observe = []byte("given"), false
	if _, err := install.apply(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if c = stored(t, client); string(c.Webhooks[0].ClientConfig.CABundle) != "given" ||
		c.Annotations[CAKey] != CAGiven {
		t.Errorf("authorities that are given do not win: %+v", c)
	}
}

// TestOnlyOurs: a foreign configuration is neither changed nor deleted.
func TestOnlyOurs(t *testing.T) {
	client := fake.NewClientset(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "lifeline"},
	})
	_, err := (&Install{Options: valid()}).apply(t.Context(), client)
	refused(t, "install", err, "that is not lifeline's")
	_, err = (&Uninstall{Name: "lifeline"}).remove(t.Context(), client)
	refused(t, "uninstall", err, "that is not lifeline's")
	if len(stored(t, client).Webhooks) > 0 {
		t.Error("it was changed")
	}
}

func TestUninstall(t *testing.T) {
	client := fake.NewClientset(Configuration(valid()))
	var out bytes.Buffer
	u := &Uninstall{Name: "lifeline", Convention: lifeline.Default, Out: &out}
	for _, want := range []string{"deleted", "is not there"} {
		if done, err := u.remove(t.Context(), client); err != nil || done != want {
			t.Errorf("%q, %v; want %q", done, err, want)
		}
	}
	_, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "lifeline",
		metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("it is there: %v", err)
	}
}

// preferred returns one version of each kind, which the fake does not support.
type preferred struct{ discovery.DiscoveryInterface }

func (p preferred) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	_, lists, err := p.ServerGroupsAndResources()
	return lists, err
}

// TestLeft: the removal command covers all kinds that may carry annotations. Names from a hostile
// API do not become part of it.
func TestLeft(t *testing.T) {
	client := fake.NewClientset()
	all := []string{"list", "patch"}
	client.Discovery().(*fakediscovery.FakeDiscovery).Resources = []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Verbs: all}, {Name: "pods/status", Verbs: all}, {Name: "secrets", Verbs: all},
			{Name: "events", Verbs: all}, {Name: "bindings", Verbs: []string{"create"}},
		}},
		{GroupVersion: "coordination.k8s.io/v1", APIResources: []metav1.APIResource{{Name: "leases", Verbs: all}}},
		{
			GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
				{Name: "heads", Verbs: all}, {Name: "x; rm -rf ~", Verbs: all}, {Name: "$(reboot)", Verbs: all},
			},
		},
	}
	kinds, err := bearers(preferred{client.Discovery()})
	if diff := cmp.Diff([]string{"heads.example.com", "pods"}, kinds); diff != "" || err != nil {
		t.Errorf("%v: -want +got:\n%s", err, diff)
	}
	var out bytes.Buffer
	u := &Uninstall{Convention: lifeline.KEP5915, Out: &out}
	u.printLeft(kinds)
	want := "for kind in heads.example.com pods; do\n  kubectl annotate \"$kind\" --all --all-namespaces " +
		"tracing.k8s.io/traceparent- tracing.k8s.io/tracestate-\ndone\n"
	if !strings.Contains(out.String(), "Objects of 2 kinds") || !strings.HasSuffix(out.String(), want) {
		t.Errorf("the output is:\n%s", &out)
	}
}

func TestDiffers(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		change func(*admissionregistrationv1.MutatingWebhookConfiguration)
		want   []string
	}{
		"ours": {"", func(*admissionregistrationv1.MutatingWebhookConfiguration) {}, nil},
		"fail": {"the worst that could be", func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
			c.Webhooks[1].FailurePolicy, c.Webhooks[0].TimeoutSeconds = ptr(admissionregistrationv1.Fail),
				ptr(int32(10))
		}, []string{
			"objects.webhook.lifeline.dev: timeoutSeconds is not 1: a slow server holds up every write for so long",
			"observed.webhook.lifeline.dev: failurePolicy is not Ignore: without the server, every write fails",
		}},
		"wide": {"what protects the control plane", func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].NamespaceSelector, c.Webhooks[0].MatchConditions = nil, c.Webhooks[0].MatchConditions[1:]
			c.Webhooks[0].SideEffects, c.Webhooks[0].ReinvocationPolicy = nil,
				ptr(admissionregistrationv1.IfNeededReinvocationPolicy)
			c.Webhooks = c.Webhooks[:1]
		}, []string{
			"objects.webhook.lifeline.dev: sideEffects is not None: dry runs are refused",
			"objects.webhook.lifeline.dev: reinvocationPolicy is not Never: a write causes two requests",
			"objects.webhook.lifeline.dev: namespace kube-node-lease is not excluded",
			"objects.webhook.lifeline.dev: namespace kube-public is not excluded",
			"objects.webhook.lifeline.dev: namespace kube-system is not excluded",
			"objects.webhook.lifeline.dev: the condition not-of-nodes-or-the-api-server is missing",
		}},
		"strange": {"others have joined", func(c *admissionregistrationv1.MutatingWebhookConfiguration) {
			c.Webhooks[0].Name = "a.b.c"
		}, []string{"webhook a.b.c is not ours", "webhook objects.webhook.lifeline.dev is missing"}},
	} {
		c := Configuration(valid())
		tc.change(c)
		if diff := cmp.Diff(tc.want, Differs(c)); diff != "" {
			t.Errorf("%s: %s: -want +got:\n%s", name, tc.reason, diff)
		}
	}
}
