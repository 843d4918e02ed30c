// SPDX-License-Identifier: Apache-2.0

// Package decision decides which context an object is given while the API server
// admits a write of it, where its writer gave none: rules P1 to P5 of
// docs/trace-model.md. It does no I/O and has no clock of its own.
//
// What is admitted may never be stored. So nothing is concluded from it: whoever
// decides only remembers, for a short time, under which context an object was
// admitted whose dependants may be admitted before anybody has seen it stored.
package decision

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline"
	"github.com/kube-lifeline/lifeline/internal/supply"
)

// Request is a write as the API server asks a webhook about it.
type Request struct {
	// UID tells calls apart. The same write may be asked about more than once, each
	// time with another.
	UID string
	// Create says that the object does not exist yet; otherwise it is updated, or
	// deleted if there is no Object.
	Create bool
	Kind   schema.GroupVersionKind
	// Namespace and Name are the request's; the name is not known yet where the
	// API server makes it.
	Namespace, Name string
	// Subresource is empty for the object itself.
	Subresource string
	User        User
	// DryRun says that nothing will be stored.
	DryRun bool
	// Object is what is to be stored, as JSON values (supply.DropNulls); Before is
	// what is stored, nil for a creation.
	Object, Before map[string]any
	// Baggage is the context that the caller sent as baggage, which reaches
	// admission whoever sends it. Trace is that of the traceparent header: the
	// caller's own, or the API server's if that traces. Either may be invalid.
	Baggage, Trace trace.SpanContext
}

// User is who makes a request, as the API server has found out.
type User struct {
	Name   string
	Groups []string
}

// IsControlPlane reports whether a user is a part of Kubernetes: what it writes of
// its own accord begins no trace.
func (u User) IsControlPlane() bool {
	switch u.Name {
	case "system:kube-controller-manager", "system:kube-scheduler", "system:apiserver", "system:kube-proxy":
		return true
	}
	return strings.HasPrefix(u.Name, "system:node:") ||
		strings.HasPrefix(u.Name, "system:serviceaccount:kube-system:") ||
		slices.Contains(u.Groups, "system:nodes")
}

// identity names the object, as far as it is known.
func (r *Request) identity() lifeline.Identity {
	meta := metadata(r.Object)
	if r.Before != nil {
		meta = metadata(r.Before)
	}
	id := lifeline.Identity{
		Group: r.Kind.Group, Kind: r.Kind.Kind, Namespace: r.Namespace, Name: r.Name,
		GenerateName: text(meta["generateName"]), UID: text(meta["uid"]),
	}
	if id.Name == "" {
		id.Name = text(meta["name"])
	}
	if r.Create {
		id.UID = "" // a saved object's, or its writer's invention
	}
	return id
}

// content is what an object holds.
func content(object map[string]any) supply.Content {
	meta := metadata(object)
	c := supply.Content{Desired: supply.State(object).Desired()}
	c.Generation, _ = meta["generation"].(int64)
	c.Annotations = annotations(object)
	return c
}

// annotations are those of an object, nil if it has none.
func annotations(object map[string]any) map[string]string {
	all, ok := metadata(object)["annotations"].(map[string]any)
	if !ok {
		return nil
	}
	out := make(map[string]string, len(all))
	for k, v := range all {
		out[k] = text(v)
	}
	return out
}

// controller is the owner whose controller manages the object; nil if there is none.
func controller(object map[string]any) *metav1.OwnerReference {
	owners, _ := metadata(object)["ownerReferences"].([]any)
	for _, o := range owners {
		if m, ok := o.(map[string]any); ok && m["controller"] == true {
			return &metav1.OwnerReference{
				APIVersion: text(m["apiVersion"]),
				Kind:       text(m["kind"]),
				Name:       text(m["name"]),
				UID:        types.UID(text(m["uid"])),
			}
		}
	}
	return nil
}

func metadata(object map[string]any) map[string]any {
	m, _ := object["metadata"].(map[string]any)
	return m
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
