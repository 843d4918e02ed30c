// SPDX-License-Identifier: Apache-2.0

package addon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// Provider is the user, and the field manager, of the infrastructure and the bootstrap provider of Cluster API.
const Provider = "provider"

// hold is the finalizer of the provider.
const hold = "provider.example.com"

// labKinds are the kinds of the provider. No Go module has them. They follow the contract
// v1beta2 of Cluster API.
func labKinds() string {
	var out strings.Builder
	for _, k := range []struct{ group, kind string }{
		{"infrastructure", "LabCluster"},
		{"infrastructure", "LabMachine"},
		{"infrastructure", "LabMachineTemplate"},
		{"bootstrap", "LabConfig"},
		{"bootstrap", "LabConfigTemplate"},
		{"controlplane", "LabControlPlane"},
	} {
		fmt.Fprintf(&out, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[1]ss.%[3]s.cluster.x-k8s.io
  labels: {cluster.x-k8s.io/v1beta2: v1}
spec:
  group: %[3]s.cluster.x-k8s.io
  scope: Namespaced
  names: {kind: %[2]s, plural: %[1]ss}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
`, strings.ToLower(k.kind), k.kind, k.group)
	}
	return out.String()
}

// InstallProvider creates the kinds of the provider.
func InstallProvider(t testing.TB, b *harness.Bench) {
	t.Helper()
	b.MustKubectl(t, labKinds(), "apply", "--server-side", "-f", "-")
	b.MustKubectl(t, labKinds(), "wait", "--for=condition=Established", "--timeout=1m", "-f", "-")
}

// provided is what the provider reads of its objects.
type provided struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name              string   `json:"name"`
		DeletionTimestamp *string  `json:"deletionTimestamp"`
		Finalizers        []string `json:"finalizers"`
	} `json:"metadata"`
	Spec struct {
		ProviderID string `json:"providerID"`
	} `json:"spec"`
	Status map[string]any `json:"status"`
}

// provider works in one namespace.
type provider struct {
	*harness.Bench

	namespace string
}

// Provide does the work of the provider in a namespace until stop is called: it makes a fake Node for each
// LabMachine.
func Provide(t testing.TB, b *harness.Bench, namespace string) (stop func()) {
	t.Helper()
	p := provider{Bench: b, namespace: namespace}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			if err := p.reconcile(ctx); err != nil && ctx.Err() == nil {
				t.Log("provider:", err)
			}
			select {
			case <-time.After(300 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// labObjects are the kinds that the provider reconciles.
const labObjects = "labclusters,labcontrolplanes,labmachines,labconfigs"

// reconcile looks at all objects of the provider once.
func (p provider) reconcile(ctx context.Context) error {
	text, err := p.RunKubectlAs(ctx, Provider, nil, "-n", p.namespace, "get", labObjects, "-o", "json")
	if err != nil {
		return err
	}
	var list struct {
		Items []provided `json:"items"`
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return err
	}
	var failed error
	for _, o := range list.Items {
		failed = errors.Join(failed, p.provideFor(ctx, &o))
	}
	return failed
}

// provideFor takes the next steps of one object.
func (p provider) provideFor(ctx context.Context, o *provided) error {
	patch := func(subresource, patch string) error {
		args := []string{
			"-n", p.namespace, "patch", strings.ToLower(o.Kind), o.Metadata.Name, "--type=merge", "-p", patch,
			"--field-manager=" + Provider,
		}
		if subresource != "" {
			args = append(args, "--subresource="+subresource)
		}
		_, err := p.RunKubectlAs(ctx, Provider, nil, args...)
		return err
	}
	held := slices.Contains(o.Metadata.Finalizers, hold)
	if o.Metadata.DeletionTimestamp != nil {
		if !held {
			return nil
		}
		rest, err := json.Marshal(slices.DeleteFunc(slices.Clone(o.Metadata.Finalizers),
			func(f string) bool { return f == hold }))
		if err != nil {
			return err
		}
		return patch("", fmt.Sprintf(`{"metadata": {"finalizers": %s}}`, rest))
	}
	if o.Status != nil {
		return nil
	}
	const ready = `"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "", ` +
		`"lastTransitionTime": %q}]`
	conditions := fmt.Sprintf(ready, time.Now().UTC().Format(time.RFC3339))
	switch o.Kind {
	case "LabConfig":
		return patch("status", fmt.Sprintf(
			`{"status": {"initialization": {"dataSecretCreated": true}, "dataSecretName": %q, %s}}`,
			o.Metadata.Name, conditions))
	case "LabControlPlane":
		return patch("status", fmt.Sprintf(`{"status": {"initialization": {"controlPlaneInitialized": true}, `+
			`"externalManagedControlPlane": true, "version": "v1.36.3", %s}}`, conditions))
	case "LabMachine":
		id := "lab://" + o.Metadata.Name
		const manifest = "apiVersion: v1\nkind: Node\nmetadata: {name: %[1]s, labels: {machine: %[1]q}}\n" +
			"spec: {providerID: %[2]q, taints: [{key: provider.example.com, effect: NoSchedule}]}\n"
		node := fmt.Sprintf(manifest, o.Metadata.Name, id)
		_, err := p.RunKubectlAs(ctx, Provider, strings.NewReader(node), "apply", "--server-side",
			"--field-manager="+Provider, "-f", "-")
		if err != nil {
			return err
		}
		if err := patch("", fmt.Sprintf(
			`{"metadata": {"finalizers": [%q]}, "spec": {"providerID": %q}}`, hold, id)); err != nil {
			return err
		}
	case "LabCluster":
		if err := patch("", fmt.Sprintf(`{"metadata": {"finalizers": [%q]}}`, hold)); err != nil {
			return err
		}
	}
	return patch("status", fmt.Sprintf(`{"status": {"initialization": {"provisioned": true}, %s}}`, conditions))
}
