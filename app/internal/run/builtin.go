// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtIn are Kubernetes' own kinds with a useful lifecycle, with the short names of kubectl.
var builtIn = []struct {
	group, kind, short string
	cluster            bool
}{
	{"", "Pod", "po", false},
	{"", "Service", "svc", false},
	{"", "ConfigMap", "cm", false},
	{"", "Secret", "", false},
	{"", "ServiceAccount", "sa", false},
	{"", "PersistentVolumeClaim", "pvc", false},
	{"", "ReplicationController", "rc", false},
	{"", "PersistentVolume", "pv", true},
	{"", "Namespace", "ns", true},
	{"", "Node", "no", true},
	{"apps", "Deployment", "deploy", false},
	{"apps", "ReplicaSet", "rs", false},
	{"apps", "StatefulSet", "sts", false},
	{"apps", "DaemonSet", "ds", false},
	{"batch", "Job", "", false},
	{"batch", "CronJob", "cj", false},
	{"autoscaling", "HorizontalPodAutoscaler", "hpa", false},
	{"networking.k8s.io", "Ingress", "ing", false},
	{"networking.k8s.io", "NetworkPolicy", "netpol", false},
	{"policy", "PodDisruptionBudget", "pdb", false},
	{"apiextensions.k8s.io", "CustomResourceDefinition", "crd", true},
}

// known resolves a kind without a cluster.
func known(kind, name string) (Target, bool) {
	plain, group, qualified := strings.Cut(kind, ".")
	lower := strings.ToLower(plain)
	for _, b := range builtIn {
		if qualified && group != b.group {
			continue
		}
		singular := strings.ToLower(b.kind)
		if lower == singular || lower == plural(singular) || lower == b.short && b.short != "" {
			return Target{
				Kind: schema.GroupKind{Group: b.group, Kind: b.kind}, Name: name, Namespaced: !b.cluster,
			}, true
		}
	}
	if !unicode.IsUpper(rune(kind[0])) {
		return Target{}, false
	}
	return Target{Kind: schema.GroupKind{Group: group, Kind: plain}, Name: name, Namespaced: true}, true
}

func plural(kind string) string {
	switch {
	case strings.HasSuffix(kind, "s"):
		return kind + "es"
	case strings.HasSuffix(kind, "y"):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}
