// SPDX-License-Identifier: Apache-2.0

package rbac

import (
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/app/internal/config"
)

// TestNetworkPolicies: in every overlay of deploy/, policies select the Pods of each workload. They
// open exactly the ports that it exposes.
func TestNetworkPolicies(t *testing.T) {
	found := 0
	for _, overlay := range overlays(t) {
		t.Run(overlay, func(t *testing.T) {
			rendered, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(),
				filepath.Join(deploy, overlay))
			if err != nil {
				t.Fatal(err)
			}
			text, err := rendered.AsYaml()
			if err != nil {
				t.Fatal(err)
			}
			i := installationOf(t, string(text))
			for _, problem := range i.problems() {
				t.Error(problem)
			}
			if !i.server() {
				t.Error("it has no server")
			}
			found++
		})
	}
	if found < 7 {
		t.Errorf("%d overlays with a server were found, want 7 at least", found)
	}
}

// overlays are the folders below deploy/ that can be applied.
func overlays(t *testing.T) (out []string) {
	t.Helper()
	err := filepath.WalkDir(deploy, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "kustomization.yaml" {
			return err
		}
		overlay, err := filepath.Rel(deploy, filepath.Dir(path))
		out = append(out, filepath.ToSlash(overlay))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// workload is the Pods of a controller.
type workload struct {
	name, namespace string
	pod             corev1.PodTemplateSpec
}

// installation is the part of some manifests that concerns connections.
type installation struct {
	workloads []workload
	policies  []networkingv1.NetworkPolicy
	// listens are the ports that the server's configuration opens beyond loopback.
	listens []int32
}

// installationOf decodes manifests strictly.
func installationOf(t *testing.T, text string) installation {
	t.Helper()
	var i installation
	into := func(doc string, object any) {
		if err := yaml.UnmarshalStrict([]byte(doc), object); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
	}
	add := func(m metav1.ObjectMeta, pod corev1.PodTemplateSpec) {
		i.workloads = append(i.workloads, workload{m.Name, m.Namespace, pod})
	}
	for doc := range strings.SplitSeq(text, "\n---\n") {
		var m metav1.PartialObjectMetadata
		if err := yaml.Unmarshal([]byte(doc), &m); err != nil {
			t.Fatal(err)
		}
		switch m.Kind {
		case "StatefulSet":
			var s appsv1.StatefulSet
			into(doc, &s)
			add(s.ObjectMeta, s.Spec.Template)
		case "Deployment":
			var d appsv1.Deployment
			into(doc, &d)
			add(d.ObjectMeta, d.Spec.Template)
		case "DaemonSet":
			var d appsv1.DaemonSet
			into(doc, &d)
			add(d.ObjectMeta, d.Spec.Template)
		case "NetworkPolicy":
			var p networkingv1.NetworkPolicy
			into(doc, &p)
			i.policies = append(i.policies, p)
		case "ConfigMap":
			var c corev1.ConfigMap
			into(doc, &c)
			if c.Name == "lifeline" {
				i.listens = listens(t, c.Data["config.yaml"])
			}
		}
	}
	return i
}

// listens returns the ports that a server with that configuration opens beyond loopback.
func listens(t *testing.T, text string) (out []int32) {
	t.Helper()
	c, err := config.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{
		c.API.Address, c.Telemetry.Address, c.Receivers.OTLP.GRPC.Address, c.Receivers.OTLP.HTTP.Address,
		c.Receivers.Audit.Webhook.Address, c.Webhook.Endpoint.Address, c.API.Aggregation.Address,
	} {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host == "localhost" || net.ParseIP(host).IsLoopback() {
			continue
		}
		n, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, int32(n))
	}
	return out
}

// server reports whether there is a server.
func (i installation) server() bool {
	return slices.ContainsFunc(i.workloads, func(w workload) bool { return w.name == "lifeline" })
}

// problems returns the connections that the policies omit or wrongly open.
func (i installation) problems() (out []string) {
	for _, w := range i.workloads {
		if w.pod.Spec.HostNetwork {
			continue
		}
		exposed := exposes(w.pod.Spec)
		if w.name == "lifeline" {
			exposed = append(exposed, i.listens...)
		}
		slices.Sort(exposed)
		opened, reaches, selected := i.of(w)
		if !selected {
			out = append(out, w.name+": no NetworkPolicy selects its Pods for Ingress and Egress")
			continue
		}
		if diff := cmp.Diff(slices.Compact(exposed), opened); diff != "" {
			out = append(out, w.name+": ports, -exposed +opened:\n"+diff)
		}
		want := []int32{53, 4317}
		switch w.name {
		case "lifeline": // DNS, the API server, a backend
			want = []int32{53, 443, 4317, 4318, 6443}
		case "lifeline-discovery": // DNS, the API server, the server
			want = []int32{53, 443, 6443, 7443}
		}
		if diff := cmp.Diff(want, reaches); diff != "" {
			out = append(out, w.name+": ports that it reaches, -want +allowed:\n"+diff)
		}
	}
	return out
}

// exposes returns the ports of a Pod's containers.
func exposes(pod corev1.PodSpec) (out []int32) {
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, p := range c.Ports {
			out = append(out, p.ContainerPort)
		}
	}
	return out
}

// of returns the ingress and egress ports that the policies open for a workload's Pods. A rule
// without ports means every port: -1.
func (i installation) of(w workload) (ingress, egress []int32, selected bool) {
	number := func(ports []networkingv1.NetworkPolicyPort) (out []int32) {
		for _, p := range ports {
			out = append(out, p.Port.IntVal)
		}
		if len(ports) == 0 {
			out = append(out, -1)
		}
		return out
	}
	var in, eg bool
	for _, p := range i.policies {
		selector, err := metav1.LabelSelectorAsSelector(&p.Spec.PodSelector)
		if err != nil || p.Namespace != w.namespace || !selector.Matches(labels.Set(w.pod.Labels)) {
			continue
		}
		if slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
			in = true
			for _, rule := range p.Spec.Ingress {
				ingress = append(ingress, number(rule.Ports)...)
			}
		}
		if slices.Contains(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) {
			eg = true
			for _, rule := range p.Spec.Egress {
				egress = append(egress, number(rule.Ports)...)
			}
		}
	}
	slices.Sort(ingress)
	slices.Sort(egress)
	return slices.Compact(ingress), slices.Compact(egress), in && eg
}

// TestNetworkPolicyProblems: problems are found.
func TestNetworkPolicyProblems(t *testing.T) {
	const manifests = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: lifeline, namespace: lifeline}
spec:
  serviceName: lifeline
  selector: {matchLabels: {app: lifeline}}
  template:
    metadata: {labels: {app: lifeline}}
    spec:
      containers: [{name: lifeline, ports: [{containerPort: 7071}]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: lifeline, namespace: lifeline}
data:
  config.yaml: |
    apiVersion: lifeline.dev/v1alpha1
    kind: ServerConfiguration
    telemetry: {address: ":7071"}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: lifeline, namespace: lifeline}
spec:
  podSelector: {matchLabels: {app: lifeline}}
  policyTypes: [Ingress, Egress]
  ingress: [{ports: [{port: 7071}]}]
  egress: [{ports: [{port: 53}, {port: 443}, {port: 6443}, {port: 4317}, {port: 4318}]}]
`
	cases := map[string]struct{ reason, old, with, want string }{
		"whole": {reason: "nothing is missing"},
		"none":  {"there must be one", "kind: NetworkPolicy", "kind: Other", "no NetworkPolicy selects"},
		"others' Pods": {
			"it must select the server's", "podSelector: {matchLabels: {app: lifeline}}",
			"podSelector: {matchLabels: {app: web}}", "no NetworkPolicy selects",
		},
		"elsewhere": {
			"a policy is for its namespace", "metadata: {name: lifeline, namespace: lifeline}\nspec:\n  podSelector",
			"metadata: {name: lifeline, namespace: web}\nspec:\n  podSelector", "no NetworkPolicy selects",
		},
		"one way": {"it must limit both ways", "[Ingress, Egress]", "[Ingress]", "no NetworkPolicy selects"},
		"new port": {
			"a port that a container exposes", "[{containerPort: 7071}]",
			"[{containerPort: 7071}, {containerPort: 9443}]", "9443",
		},
		"new address": {
			"a port that the server opens", `telemetry: {address: ":7071"}`,
			`api: {address: ":7070", tls: {certFile: c, keyFile: k}, tokenFile: t}`, "7070",
		},
		"too much": {
			"a port that is not in use", "ingress: [{ports: [{port: 7071}]}]",
			"ingress: [{ports: [{port: 7071}, {port: 22}]}]", "22",
		},
		"everything": {"a rule without ports opens all", "ingress: [{ports: [{port: 7071}]}]", "ingress: [{}]", "-1"},
		"cut off":    {"the server needs the API server", "{port: 443}, {port: 6443}, ", "", "6443"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.old != "" && !strings.Contains(manifests, tc.old) {
				t.Fatalf("there is no %q", tc.old)
			}
			got := strings.Join(installationOf(t, strings.Replace(manifests, tc.old, tc.with, 1)).problems(), "\n")
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
