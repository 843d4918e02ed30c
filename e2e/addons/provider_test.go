// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// provider is the user, and the field manager, of the infrastructure and the bootstrap provider.
const provider = "provider"

// hold is the finalizer of the provider.
const hold = "provider.example.com"

// labKinds are the kinds of the provider, which has no module of its own. They follow the contract
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

// provide does the work of a provider until stop is called: it makes a fake Node for each LabMachine.
func (s *stage) provide() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			if err := s.reconcile(ctx); err != nil && ctx.Err() == nil {
				s.t.Log("provider:", err)
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
func (s *stage) reconcile(ctx context.Context) error {
	text, err := s.RunKubectlAs(ctx, provider, nil, "-n", shop, "get", labObjects, "-o", "json")
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
		failed = errors.Join(failed, s.provideFor(ctx, &o))
	}
	return failed
}

// provideFor takes the next steps of one object.
func (s *stage) provideFor(ctx context.Context, o *provided) error {
	patch := func(subresource, patch string) error {
		args := []string{"-n", shop, "patch", strings.ToLower(o.Kind), o.Metadata.Name, "--type=merge", "-p", patch,
			"--field-manager=" + provider}
		if subresource != "" {
			args = append(args, "--subresource="+subresource)
		}
		_, err := s.RunKubectlAs(ctx, provider, nil, args...)
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
			"spec: {providerID: %[2]q}\n"
		node := fmt.Sprintf(manifest, o.Metadata.Name, id)
		_, err := s.RunKubectlAs(ctx, provider, strings.NewReader(node), "apply", "--server-side",
			"--field-manager="+provider, "-f", "-")
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
