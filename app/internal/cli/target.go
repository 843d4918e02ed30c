// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// Target is an object named by the user.
type Target struct {
	// Resource is the API resource; empty without a cluster.
	Resource schema.GroupVersionResource
	Kind     schema.GroupKind
	Name     string
	// Namespaced means that it is in a namespace.
	Namespaced bool
}

// String returns the target's name in messages: "Deployment web".
func (t Target) String() string { return Shown(t.Kind.Kind) + " " + Shown(t.Name) }

// Ref returns the target's identity for a server.
func (t Target) Ref(namespace string) object.Ref {
	ref := object.Ref{Kind: object.Kind{Group: t.Kind.Group, Kind: t.Kind.Kind}, Name: t.Name}
	if t.Namespaced {
		ref.Namespace = namespace
	}
	return ref
}

// Argument returns an object as KIND/NAME, as the commands accept it.
func Argument(o object.Ref) string {
	name := strings.ToLower(o.Kind.Kind)
	if kind.Of(o.Group, o.Kind.Kind).Resource == "" && o.Group != "" {
		name = o.Kind.Kind + "." + o.Group
	}
	return Shown(name) + "/" + Shown(o.Name)
}

// Mapper returns the kinds of a cluster.
type Mapper func() (meta.RESTMapper, error)

// CheckTarget returns an error for a name that is not of the form KIND/NAME.
func CheckTarget(arg string) error {
	kind, name, ok := strings.Cut(arg, "/")
	if !ok || kind == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("%q is not KIND/NAME", arg)
	}
	return nil
}

// Target resolves KIND/NAME by kind, resource or short name, with or without version and group.
// Without strict, it falls back when the cluster is unavailable or lacks the kind. Then it accepts
// Kubernetes' own kinds, and any other kind written exactly: Certificate.cert-manager.io. Its
// errors contain only the reason.
func (o *Options) Target(arg string, strict bool) (Target, error) {
	if err := CheckTarget(arg); err != nil {
		return Target{}, err
	}
	kind, name, _ := strings.Cut(arg, "/")
	target, err := o.Mapped(kind, name)
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

// Mapped resolves the kind by the cluster's discovery.
func (o *Options) Mapped(kind, name string) (Target, error) {
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
	return Target{
		Resource: found, Kind: gvk.GroupKind(), Name: name,
		Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace,
	}, nil
}
