// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// configuration returns the configuration to write the certificate to. It returns nil if there is
// none, or if its authorities have another source.
func (k *Keeper) configuration(ctx context.Context) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	if k.opts.Configuration == "" {
		return nil, nil //nolint:nilnil // no error; every caller checks for nil
	}
	c, err := k.opts.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, k.opts.Configuration,
		metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // as above
	case err != nil:
		return nil, fmt.Errorf("cannot read MutatingWebhookConfiguration %s: %w", k.opts.Configuration, err)
	case c.Annotations[registration.CAKey] != registration.CAManaged:
		return nil, nil //nolint:nilnil // as above
	}
	return c, nil
}

// trusts reports whether every webhook of a configuration trusts a certificate; true without a
// configuration.
func trusts(c *admissionregistrationv1.MutatingWebhookConfiguration, leaf *x509.Certificate) bool {
	if c == nil {
		return true
	}
	for i := range c.Webhooks {
		if !holds(readBundle(c.Webhooks[i].ClientConfig.CABundle), leaf) {
			return false
		}
	}
	return true
}

// inject writes the trusted certificates into a configuration, unless they are there or another
// process has written it since. It never creates one, because the user may have just uninstalled
// it.
func (k *Keeper) inject(ctx context.Context, c *admissionregistrationv1.MutatingWebhookConfiguration, s state) error {
	if c == nil {
		return nil
	}
	bundle := s.bundle()
	patch := []map[string]any{{"op": "test", "path": "/metadata/resourceVersion", "value": c.ResourceVersion}}
	for i := range c.Webhooks {
		if !bytes.Equal(c.Webhooks[i].ClientConfig.CABundle, bundle) {
			patch = append(patch, map[string]any{
				"op": "add", "path": fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), "value": bundle,
			})
		}
	}
	if len(patch) == 1 {
		return nil
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("cannot write a patch: %w", err)
	}
	configurations := k.opts.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err = configurations.Patch(ctx, c.Name, types.JSONPatchType, text, metav1.PatchOptions{
		FieldManager: manager,
	}); err != nil {
		if now, gone := configurations.Get(ctx, c.Name, metav1.GetOptions{}); apierrors.IsNotFound(gone) ||
			gone == nil && now.ResourceVersion != c.ResourceVersion {
			return nil // another process was first; the next step checks again
		}
		return fmt.Errorf("cannot write the webhook's certificate into MutatingWebhookConfiguration %s: %w", c.Name,
			err)
	}
	k.opts.Log.Info("the webhook's certificate was written into the configuration", "configuration", c.Name)
	return nil
}
