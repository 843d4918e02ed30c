// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

// manager is the field manager of applied fields.
const manager = "lifeline-install"

// Command is `lifeline install`.
type Command struct {
	Options
	// REST is the cluster. Nil means that the manifests are printed.
	REST *rest.Config
	// DryRun makes the API server validate everything, and store nothing.
	DryRun bool
	// Flags are the flags of kubectl and lifeline that choose the cluster, with a space before each. They are a
	// part of the printed commands.
	Flags string
	// Out receives manifests and the report.
	Out io.Writer
}

// plurals are the resources of the manifests, by kind.
var plurals = map[string]string{
	"Namespace": "namespaces", "ServiceAccount": "serviceaccounts", "ConfigMap": "configmaps", "Service": "services",
	"StatefulSet": "statefulsets", "Deployment": "deployments", "APIService": "apiservices",
	"NetworkPolicy": "networkpolicies", "PodDisruptionBudget": "poddisruptionbudgets",
	"Role": "roles", "RoleBinding": "rolebindings",
	"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings",
}

// Run prints the manifests, or applies them. Fields that others have changed since the last time stay. The code is
// 0, or 1 with an error.
func (c *Command) Run(ctx context.Context) (code int, err error) {
	if c.REST == nil {
		return c.print()
	}
	over, err := rest.HTTPClientFor(c.REST)
	if err != nil {
		return 1, fmt.Errorf("cannot connect to the cluster: %w", err)
	}
	defer utilnet.CloseIdleConnectionsFor(over.Transport)
	conf := rest.CopyConfig(c.REST)
	conf.QPS, conf.Burst = 50, 100 // by default, forty objects take eight seconds
	client, err := dynamic.NewForConfigAndClient(conf, over)
	if err != nil {
		return 1, fmt.Errorf("cannot connect to the cluster: %w", err)
	}
	asked := c.Storage
	was, err := c.claims(ctx, client)
	if err != nil {
		return 1, err
	}
	objects, err := Manifests(c.Options)
	if err != nil {
		return 1, err
	}
	if err := c.applyAll(ctx, client, objects, was); err != nil {
		return 1, err
	}
	c.next(was, asked)
	return 0, nil
}

func (c *Command) print() (code int, err error) {
	objects, err := Manifests(c.Options)
	if err != nil {
		return 1, err
	}
	text, err := YAML(objects)
	if err != nil {
		return 1, err
	}
	if _, err := c.Out.Write(text); err != nil {
		return 1, fmt.Errorf("cannot write the manifests: %w", err)
	}
	return 0, nil
}

// claims returns the claim templates of an installed server, or nil. Kubernetes forbids their change. It takes
// Storage from them if no other size was asked for.
func (c *Command) claims(ctx context.Context, client dynamic.Interface) ([]any, error) {
	set, err := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}).
		Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look for an installed server: %w", err)
	}
	templates, _, err := unstructured.NestedSlice(set.Object, "spec", "volumeClaimTemplates")
	if err != nil {
		return nil, fmt.Errorf("cannot read StatefulSet %s: %w", name, err)
	}
	without := len(templates) == 0
	if c.Storage == "" && without {
		c.Storage = NoStorage
	}
	if without != (c.Storage == NoStorage) {
		return nil, fmt.Errorf("the installed server has other storage, and Kubernetes cannot change that: "+
			"kubectl%s -n %s delete statefulset %s, and install again", c.Flags, c.Namespace, name)
	}
	if c.Storage == "" {
		c.Storage = sizeOf(templates)
	}
	return templates, nil
}

// sizeOf is the size in claim templates.
func sizeOf(templates []any) string {
	if len(templates) == 0 {
		return ""
	}
	template, _ := templates[0].(map[string]any)
	size, _, _ := unstructured.NestedString(template, "spec", "resources", "requests", "storage")
	return size
}

// applyAll applies the objects in their order, and reports each.
func (c *Command) applyAll(
	ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured, was []any,
) error {
	absent := false // the namespace, which a dry run does not create
	for _, o := range objects {
		if o.GetKind() == "StatefulSet" && len(was) > 0 {
			if err := unstructured.SetNestedSlice(o.Object, was, "spec", "volumeClaimTemplates"); err != nil {
				return fmt.Errorf("cannot keep the volume claims: %w", err)
			}
		}
		gvk := o.GroupVersionKind()
		gvr := gvk.GroupVersion().WithResource(plurals[gvk.Kind])
		resource := dynamic.ResourceInterface(client.Resource(gvr))
		if o.GetNamespace() != "" {
			resource = client.Resource(gvr).Namespace(o.GetNamespace())
		}
		done, kept, err := "created", []metav1.StatusCause(nil), error(nil)
		if !absent || o.GetNamespace() == "" {
			done, kept, err = c.apply(ctx, resource, o)
		}
		if err != nil {
			return fmt.Errorf("cannot apply %s %s: %w", gvk.Kind, o.GetName(), err)
		}
		absent = absent || c.DryRun && gvk.Kind == "Namespace" && done == "created"
		if c.DryRun {
			done += " (dry run)"
		}
		fmt.Fprintf(c.Out, "%s/%s %s\n", strings.ToLower(gvk.GroupKind().String()), o.GetName(), done)
		for _, cause := range kept {
			fmt.Fprintf(c.Out, "  kept %s: %s\n", object.Bound(cause.Field), object.Bound(cause.Message))
		}
	}
	return nil
}

// apply applies one object. It leaves out the fields that others have changed, and returns them.
func (c *Command) apply(
	ctx context.Context, to dynamic.ResourceInterface, o *unstructured.Unstructured,
) (done string, kept []metav1.StatusCause, err error) {
	before, err := to.Get(ctx, o.GetName(), metav1.GetOptions{})
	created := apierrors.IsNotFound(err)
	if err != nil && !created {
		return "", nil, err
	}
	options := metav1.PatchOptions{FieldManager: manager, Force: new(bool)}
	if c.DryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	for {
		text, err := json.Marshal(o.Object)
		if err != nil {
			return "", nil, err
		}
		after, err := to.Patch(ctx, o.GetName(), types.ApplyPatchType, text, options)
		if err == nil {
			return c.done(created, before, after), kept, nil
		}
		fields := conflicts(err)
		if len(fields) == 0 {
			return "", nil, err
		}
		// Each round removes a field, so there is an end.
		for _, f := range fields {
			if problem := remove(o.Object, f.Field); problem != nil {
				return "", nil, errors.Join(err, problem)
			}
		}
		kept = append(kept, fields...)
	}
}

// done names the effect on an object.
func (c *Command) done(created bool, before, after *unstructured.Unstructured) string {
	switch {
	case created:
		return "created"
	case before.GetResourceVersion() != after.GetResourceVersion(),
		c.DryRun && before.GetGeneration() != after.GetGeneration():
		return "configured"
	}
	return "unchanged"
}

// next prints the state and the next commands.
func (c *Command) next(was []any, asked string) {
	if c.DryRun {
		return
	}
	kubectl := fmt.Sprintf("kubectl%s -n %s", c.Flags, c.Namespace)
	in := c.Flags
	if c.Namespace != name {
		in += " -n " + c.Namespace
	}
	fmt.Fprintf(c.Out, "\nlifeline is installed in namespace %s, with image %s. Next:\n", c.Namespace, c.Image)
	fmt.Fprintf(c.Out, "  %s rollout status statefulset/%s\n", kubectl, name)
	fmt.Fprintf(c.Out, "  lifeline ui%s\n", in)
	fmt.Fprintf(c.Out, "  kubectl%s get changes -A\n", c.Flags)
	if c.Webhook {
		fmt.Fprintf(c.Out, "  lifeline doctor%s --probe-webhook %s/%s-webhook    # before: lifeline webhook install\n",
			c.Flags, c.Namespace, name)
	}
	if size := sizeOf(was); asked != "" && size != "" && size != asked {
		fmt.Fprintf(c.Out, "The volume claims keep their size, %s. If their StorageClass allows it:\n"+
			"  %s patch pvc %s-%s-0 -p '{\"spec\":{\"resources\":{\"requests\":{\"storage\":%q}}}}'\n",
			size, kubectl, data, name, asked)
	}
	if cmp.Or(c.Storage, DefaultStorage) == NoStorage {
		fmt.Fprintln(c.Out, "Traces are lost with the Pod.")
	}
}
