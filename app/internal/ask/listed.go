// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// clusterObject is an object of the cluster, with the UID of its controller, or "".
type clusterObject struct {
	namespace, name string
	uid, controller types.UID
}

// listed returns the objects of the resources in a namespace; "" means all namespaces. A selector limits them to those
// with the labels. More than most are an error. Of several resources, those without the right to list them are left
// out.
func listed(
	ctx context.Context, o *cli.Options, resources []schema.GroupVersionResource, namespace, selector string, most int,
) ([]clusterObject, error) {
	if o.Kubeconfig == nil {
		return nil, proxy.ErrNoConfig
	}
	cfg := rest.CopyConfig(o.Kubeconfig.Current())
	cfg.UserAgent, cfg.QPS = o.UserAgent(), -1 // a request for each kind, one after the other
	cluster, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	var found []clusterObject
	for _, r := range resources {
		list, err := cluster.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{
			LabelSelector: selector, Limit: int64(most) + 1,
		})
		switch {
		case len(resources) > 1 && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)):
			continue // a user need not read every kind
		case err != nil:
			return nil, fmt.Errorf("cannot list %s: %w", r.Resource, err)
		}
		for i := range list.Items {
			item := &list.Items[i]
			one := clusterObject{namespace: item.Namespace, name: item.Name, uid: item.UID}
			if c := metav1.GetControllerOfNoCopy(item); c != nil {
				one.controller = c.UID
			}
			found = append(found, one)
		}
		if len(found) > most || list.Continue != "" {
			return nil, &tooManyError{most}
		}
	}
	return found, nil
}

// tooManyError means that more objects match than a command accepts.
type tooManyError struct{ most int }

// Error implements error.
func (e *tooManyError) Error() string {
	return fmt.Sprintf("more than %d objects match: give a namespace with -n, or labels with -l", e.most)
}

// selected returns the UIDs of the cluster's objects with the labels that have no controller, and of the
// controllers of the others.
func (p *Problems) selected(ctx context.Context) ([]types.UID, error) {
	resources, err := (&List{Options: p.Options}).selectable(object.Ref{Namespace: p.Namespace})
	if err != nil {
		return nil, err
	}
	found, err := listed(ctx, &p.Options, resources, p.Namespace, p.Selector, maxSelectedObjects)
	if err != nil {
		return nil, err
	}
	known := map[types.UID]bool{}
	for i := range found {
		known[found[i].uid] = true
	}
	var out []types.UID
	for i := range found {
		uid := found[i].uid
		if found[i].controller != "" {
			if known[found[i].controller] {
				continue // it stands for the object
			}
			uid = found[i].controller
		}
		if !slices.Contains(out, uid) {
			out = append(out, uid)
		}
	}
	if len(out) > maxSelected {
		return nil, fmt.Errorf("more than %d objects match %s: give a namespace with -n, or more labels",
			maxSelected, cli.Shown(p.Selector))
	}
	return out, nil
}

// maxSelectedObjects bounds the objects of a label selector, with those that have a controller.
const maxSelectedObjects = 2000

// checkNamespace returns an error if the namespace does not exist. Without the right to read it, nothing is known.
func checkNamespace(ctx context.Context, o *cli.Options, namespace string) error {
	if o.Kubeconfig == nil || namespace == "" {
		return nil
	}
	cfg := rest.CopyConfig(o.Kubeconfig.Current())
	cfg.UserAgent = o.UserAgent()
	cluster, err := metadata.NewForConfig(cfg)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Beside(namespacePatience))
	defer cancel()
	namespaces := kind.Namespace.GroupVersionResource()
	if _, err := cluster.Resource(namespaces).Get(ctx, namespace, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return errors.New("there is no namespace " + cli.Shown(namespace) + ": give another with -n, or -A for all")
	}
	return nil
}

// namespacePatience bounds the request for a namespace.
const namespacePatience = 3 * time.Second
