// SPDX-License-Identifier: Apache-2.0

// Package decision gives an object a context during the admission of a write, if its writer
// supplied none: rules P1 to P5 of docs/trace-model.md. It does no I/O and reads no clock.
//
// An admitted write may never be stored, so the engine concludes nothing from it. A Decider only
// keeps the contexts of recently admitted objects. Their dependants may be admitted before the
// server observes the objects.
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

// Request is a write in a call of the webhook.
type Request struct {
	// UID identifies the call. One write may have several calls, each with its own UID.
	UID string
	// Create marks a creation. Otherwise the object is updated, or deleted if there is no Object.
	Create bool
	Kind   schema.GroupVersionKind
	// Namespace and Name are the request's. The name is empty if the API server has yet to generate
	// it.
	Namespace, Name string
	// Subresource is empty for the object itself.
	Subresource string
	User        User
	// DryRun marks a request that stores nothing.
	DryRun bool
	// Object is the object to store, as JSON values (supply.DropNulls). Before is the stored
	// object; nil for a creation.
	Object, Before map[string]any
	// Baggage is the context that the caller sent as baggage. It reaches admission from every
	// caller. Trace is the context of the traceparent header: the caller's own, or that of the API
	// server's span if the API server traces. Either may be invalid.
	Baggage, Trace trace.SpanContext
}

// User is the authenticated user of a request.
type User struct {
	Name   string
	Groups []string
}

// IsControlPlane reports whether a user is a part of Kubernetes. Its own writes begin no trace.
func (u User) IsControlPlane() bool {
	switch u.Name {
	case "system:kube-controller-manager", "system:kube-scheduler", "system:apiserver", "system:kube-proxy":
		return true
	}
	return strings.HasPrefix(u.Name, "system:node:") ||
		strings.HasPrefix(u.Name, "system:serviceaccount:kube-system:") ||
		slices.Contains(u.Groups, "system:nodes")
}

// identity returns the known parts of the object's identity.
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
		id.UID = "" // of a saved object, or invented by its writer
	}
	return id
}

// content returns the parts of an object that a decision needs.
func content(object map[string]any) supply.Content {
	meta := metadata(object)
	c := supply.Content{Desired: supply.State(object).Desired()}
	c.Generation, _ = meta["generation"].(int64)
	c.Annotations = annotations(object)
	return c
}

// annotations returns the annotations of an object; nil if it has none.
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

// controller returns the owner whose controller manages the object; nil if there is none.
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
