// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Target is an object that the user named.
type Target struct {
	// Resource is what the API serves it as; empty where no cluster was there
	// to ask.
	Resource schema.GroupVersionResource
	Kind     schema.GroupKind
	Name     string
	// Namespaced says that it is in a namespace.
	Namespaced bool
}

// String names the target as messages do: "Deployment web".
func (t Target) String() string { return shown(t.Kind.Kind) + " " + shown(t.Name) }

// ref is what identifies the target to a server.
func (t Target) ref(namespace string) object.Ref {
	ref := object.Ref{Kind: object.Kind{Group: t.Kind.Group, Kind: t.Kind.Kind}, Name: t.Name}
	if t.Namespaced {
		ref.Namespace = namespace
	}
	return ref
}

// Mapper finds out which kinds a cluster has.
type Mapper func() (meta.RESTMapper, error)

// CheckTarget reports a name that is not of the form KIND/NAME.
func CheckTarget(arg string) error {
	kind, name, ok := strings.Cut(arg, "/")
	if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%q is not KIND/NAME", arg)
	}
	return nil
}

// target finds the kind that KIND/NAME names: by kind, resource or short name,
// with or without version and group. Where the cluster cannot be asked or does
// not know the kind (any more), and strict is false, Kubernetes' own kinds are
// known, and any other that is written as it is: Certificate.cert-manager.io. Its errors say
// only why.
func (o *Options) target(arg string, strict bool) (Target, error) {
	if err := CheckTarget(arg); err != nil {
		return Target{}, err
	}
	kind, name, _ := strings.Cut(arg, "/")
	target, err := o.mapped(kind, name)
	if err == nil {
		return target, nil
	}
	if !strict {
		if target, ok := known(kind, name); ok {
			return target, nil
		}
	}
	if meta.IsNoMatchError(err) {
		return Target{}, fmt.Errorf("the cluster has no kind or resource %q", kind)
	}
	return Target{}, err
}

// mapped asks the cluster.
func (o *Options) mapped(kind, name string) (Target, error) {
	if o.Mapper == nil {
		return Target{}, errors.New("there is no cluster to ask for its kinds")
	}
	mapper, err := o.Mapper()
	if err != nil {
		return Target{}, err
	}
	full, short := schema.ParseResourceArg(strings.ToLower(kind))
	found, err := schema.GroupVersionResource{}, error(nil)
	if full != nil {
		found, err = mapper.ResourceFor(*full)
	}
	if full == nil || err != nil {
		found, err = mapper.ResourceFor(short.WithVersion(""))
	}
	if err != nil {
		return Target{}, err
	}
	gvk, err := mapper.KindFor(found)
	if err != nil {
		return Target{}, err
	}
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return Target{}, err
	}
	return Target{Resource: found, Kind: gvk.GroupKind(), Name: name, Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}, nil
}
