// SPDX-License-Identifier: Apache-2.0

// Package install installs the kinds and the webhook configuration of an operator that runs outside
// the cluster. An operator inside the cluster also needs the manifests in config.
package install

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/examples/head-operator/config"
)

const (
	fieldOwner = client.FieldOwner("head-operator-install")
	// patience is the time limit for a cluster to serve a new kind.
	patience = time.Minute
)

// CRDs applies the custom resource definitions and waits until the cluster serves them. The scheme
// of c must include CustomResourceDefinition.
func CRDs(ctx context.Context, c client.Client) error {
	files, err := fs.Glob(config.CRDs, "crd/*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := config.CRDs.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := apply(ctx, c, text)
		if err != nil {
			return fmt.Errorf("cannot install %s: %w", file, err)
		}
		if err := awaitEstablished(ctx, c, name); err != nil {
			return fmt.Errorf("custom resource definition %s is not served: %w", name, err)
		}
	}
	return nil
}

// Webhook applies the configuration of a webhook outside the cluster. The API server reaches it at
// base, https://HOST:PORT, and verifies it with ca, in PEM.
func Webhook(ctx context.Context, c client.Client, base string, ca []byte) error {
	if _, err := parseBase(base); err != nil {
		return err
	}
	var hooks admissionregistrationv1.MutatingWebhookConfiguration
	if err := yaml.Unmarshal(config.Webhook, &hooks); err != nil {
		return fmt.Errorf("cannot parse the webhook configuration: %w", err)
	}
	for i := range hooks.Webhooks {
		at := &hooks.Webhooks[i].ClientConfig
		full, err := url.JoinPath(base, *at.Service.Path)
		if err != nil {
			return fmt.Errorf("cannot build a webhook URL from %q: %w", base, err)
		}
		*at = admissionregistrationv1.WebhookClientConfig{URL: &full, CABundle: ca}
	}
	text, err := yaml.Marshal(hooks)
	if err != nil {
		return err
	}
	if _, err := apply(ctx, c, text); err != nil {
		return fmt.Errorf("cannot install the webhook configuration %s: %w", hooks.Name, err)
	}
	return nil
}

// apply applies one manifest and returns the object's name.
func apply(ctx context.Context, c client.Client, manifest []byte) (string, error) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(manifest, &u.Object); err != nil {
		return "", err
	}
	return u.GetName(), c.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), fieldOwner, client.ForceOwnership)
}

func awaitEstablished(ctx context.Context, c client.Client, name string) error {
	return wait.PollUntilContextTimeout(
		ctx,
		100*time.Millisecond,
		patience,
		true,
		func(ctx context.Context) (bool, error) {
			var crd apiextensionsv1.CustomResourceDefinition
			if err := c.Get(ctx, client.ObjectKey{Name: name}, &crd); err != nil {
				return false, err
			}
			for _, condition := range crd.Status.Conditions {
				if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
					return true, nil
				}
			}
			return false, nil
		},
	)
}

// parseBase accepts only https://HOST:PORT.
func parseBase(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the webhook's URL: %w", err)
	}
	if u.Scheme != "https" || u.Host == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" ||
		u.User != nil {
		return nil, fmt.Errorf("the webhook's URL must be https://HOST:PORT, not %q", base)
	}
	return u, nil
}

// Scheme returns a scheme for the client of CRDs.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, apiextensionsv1.AddToScheme(scheme)
}
