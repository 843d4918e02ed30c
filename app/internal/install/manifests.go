// SPDX-License-Identifier: Apache-2.0

package install

import (
	"cmp"
	"embed"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed manifests/*.yaml
var rendered embed.FS

// Manifests returns the objects to apply, each after those that it needs.
func Manifests(o Options) ([]*unstructured.Unstructured, error) {
	file := "manifests/single"
	if o.Replicas > 1 {
		file = "manifests/standby"
	}
	if o.Webhook {
		file += "-webhook"
	}
	text, err := rendered.ReadFile(file + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("cannot read the manifests: %w", err)
	}
	var out []*unstructured.Unstructured
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &object.Object); err != nil {
			return nil, fmt.Errorf("cannot read the manifests: %w", err)
		}
		if len(object.Object) == 0 { // the comment at the beginning
			continue
		}
		if err := o.adapt(object); err != nil {
			return nil, fmt.Errorf("cannot adapt %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		out = append(out, object)
	}
	return out, nil
}

// adapt applies the options to an object.
func (o *Options) adapt(object *unstructured.Unstructured) error {
	if object.GetNamespace() == name { // a binding in kube-system stays there
		object.SetNamespace(o.Namespace)
	}
	switch object.GetKind() {
	case "Namespace":
		object.SetName(o.Namespace)
	case "RoleBinding", "ClusterRoleBinding":
		subjects, _, err := unstructured.NestedSlice(object.Object, "subjects")
		if err != nil {
			return err
		}
		for _, s := range subjects {
			if s := s.(map[string]any); s["namespace"] != nil { //nolint:forcetypeassert // rendered by us
				s["namespace"] = o.Namespace // a group has none
			}
		}
		return unstructured.SetNestedSlice(object.Object, subjects, "subjects")
	case "ConfigMap":
		return o.configure(object)
	case "StatefulSet":
		return o.run(object)
	case "Deployment":
		return o.discover(object)
	case "APIService":
		return unstructured.SetNestedField(object.Object, o.Namespace, "spec", "service", "namespace")
	}
	return nil
}

// discover adapts the Deployment of lifeline discovery.
func (o *Options) discover(object *unstructured.Unstructured) error {
	containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return err
	}
	container := containers[0].(map[string]any) //nolint:forcetypeassert // rendered by us
	container["image"] = o.Image
	args := container["args"].([]any) //nolint:forcetypeassert // the same
	for i, arg := range args {
		//nolint:forcetypeassert // the same
		args[i] = strings.Replace(arg.(string), "."+name+".svc", "."+o.Namespace+".svc", 1)
	}
	return unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")
}

// configure adapts the server's configuration.
func (o *Options) configure(object *unstructured.Unstructured) error {
	const file = "config.yaml"
	text, _, err := unstructured.NestedString(object.Object, "data", file)
	if err != nil {
		return err
	}
	var c map[string]any
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		return err
	}
	if o.Storage != NoStorage {
		kept, err := retention(cmp.Or(o.Storage, DefaultStorage))
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(c, kept, "retention", "size"); err != nil {
			return err
		}
	}
	if o.Webhook && o.Namespace != name {
		names := []any{name + "-webhook." + o.Namespace + ".svc"}
		if err := unstructured.SetNestedSlice(c, names, "webhook", "certificate", "names"); err != nil {
			return err
		}
	}
	changed, err := yaml.Marshal(c)
	if err != nil {
		return err
	}
	return unstructured.SetNestedField(object.Object, string(changed), "data", file)
}

// retention is four fifths of a volume, as in the chart. The rest is for data that waits.
func retention(size string) (string, error) {
	q, err := resource.ParseQuantity(size)
	if err != nil {
		return "", err
	}
	const mi = 1 << 20
	return resource.NewQuantity(q.Value()/mi*4/5*mi, resource.BinarySI).String(), nil
}

// run adapts the StatefulSet.
func (o *Options) run(object *unstructured.Unstructured) error {
	//nolint:forcetypeassert // rendered by us, and tested
	var (
		spec      = object.Object["spec"].(map[string]any)
		pod       = spec["template"].(map[string]any)["spec"].(map[string]any)
		container = pod["containers"].([]any)[0].(map[string]any)
		claim     = spec["volumeClaimTemplates"].([]any)[0].(map[string]any)["spec"].(map[string]any)
	)
	container["image"] = o.Image
	if o.Storage == NoStorage {
		delete(spec, "volumeClaimTemplates")
		pod["volumes"] = append(pod["volumes"].([]any), map[string]any{ //nolint:forcetypeassert // the same
			"name": data, "emptyDir": map[string]any{"sizeLimit": DefaultStorage},
		})
		return nil
	}
	if o.StorageClass != "" {
		claim["storageClassName"] = o.StorageClass
	}
	return unstructured.SetNestedField(claim, cmp.Or(o.Storage, DefaultStorage), "resources", "requests", "storage")
}

// YAML returns objects as one text for kubectl.
func YAML(objects []*unstructured.Unstructured) ([]byte, error) {
	var out []byte
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("cannot write the manifests: %w", err)
		}
		out = append(append(out, "---\n"...), text...)
	}
	return out, nil
}
