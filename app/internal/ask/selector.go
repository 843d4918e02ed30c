// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/api/client"
	"github.com/kube-lifeline/lifeline/app/internal/cli"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/source/proxy"
)

// maxSelected is the maximum number of objects of a label selector: the server gets one request for
// each.
const maxSelected = 100

// checkSelector returns an error for an invalid label selector.
func checkSelector(text string) error {
	if _, err := labels.Parse(text); err != nil {
		return fmt.Errorf("--selector %q: %w", text, err)
	}
	return nil
}

// selected returns the UIDs of the cluster's objects that match the label selector. Without a kind
// these are objects of the known kinds without a controller, such as Deployments but not their
// Pods. The cluster has the labels; traces have none. So deleted objects are not found.
func (l *List) selected(ctx context.Context, of object.Ref) ([]types.UID, error) {
	if l.Kubeconfig == nil {
		return nil, proxy.ErrNoConfig
	}
	cfg := rest.CopyConfig(l.Kubeconfig.Current())
	cfg.UserAgent = l.UserAgent()
	cluster, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, err
	}
	resources, err := l.selectable(of)
	if err != nil {
		return nil, err
	}
	var found []types.UID
	for _, r := range resources {
		list, err := cluster.Resource(r).Namespace(of.Namespace).List(ctx, metav1.ListOptions{
			LabelSelector: l.Selector, Limit: maxSelected + 1,
		})
		switch {
		case of.Kind.Kind == "" && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)):
			continue // a user need not read every kind
		case err != nil:
			return nil, fmt.Errorf("cannot list %s with labels %s: %w", r.Resource, cli.Shown(l.Selector), err)
		}
		for i := range list.Items {
			if of.Kind.Kind != "" || metav1.GetControllerOfNoCopy(&list.Items[i]) == nil {
				found = append(found, list.Items[i].UID)
			}
		}
		if len(found) > maxSelected || list.Continue != "" {
			return nil, fmt.Errorf("more than %d objects match %s: name a kind, or a namespace with -n",
				maxSelected, cli.Shown(l.Selector))
		}
	}
	return found, nil
}

// selectable returns the resource of the kind, or those of all known kinds with content.
func (l *List) selectable(of object.Ref) ([]schema.GroupVersionResource, error) {
	if of.Kind.Kind != "" {
		target, err := l.Mapped(schema.GroupKind{Group: of.Group, Kind: of.Kind.Kind}.String(), "")
		if err != nil {
			return nil, err
		}
		return []schema.GroupVersionResource{target.Resource}, nil
	}
	var out []schema.GroupVersionResource
	for _, k := range kind.All() {
		if k.Resource != "" && (of.Namespace == "" || !k.ClusterScoped) {
			out = append(out, k.GroupVersionResource())
		}
	}
	return out, nil
}

// collectSelected reads at most limit entries that touch one of the objects, newest first.
func collectSelected(
	ctx context.Context, c *client.Client, q client.Query, uids []types.UID, limit int,
) (out listing, err error) {
	known := map[string]bool{}
	for _, uid := range uids {
		q.Object = object.Ref{UID: uid}
		some, err := collect(ctx, c, q, limit)
		if err != nil {
			return listing{}, err
		}
		out.more = out.more || some.more
		some.Traces = slices.DeleteFunc(some.Traces, func(s api.Summary) bool { return known[s.TraceID] })
		for _, s := range some.Traces {
			known[s.TraceID] = true
		}
		out.addPage(&some.Page, 0)
	}
	slices.SortStableFunc(out.Traces, func(a, b api.Summary) int { return b.Start.Compare(a.Start) })
	out.addPage(&api.Page{}, limit)
	return out, nil
}
