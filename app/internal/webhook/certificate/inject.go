// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

// registered is an object in which the API server reads the certificates that it trusts.
type registered struct {
	name, version string
	annotations   map[string]string
	// bundles are the trusted certificates in PEM, and paths those of the fields.
	bundles [][]byte
	paths   []string
	// read returns the object again, and patch changes it.
	read  func(context.Context) (*registered, error)
	patch func(context.Context, []byte) error
}

// registered returns the object to write the certificate to. It returns nil if there is none, or if its authorities
// have another source.
func (k *Keeper) registered(ctx context.Context) (*registered, error) {
	read := k.configuration
	switch {
	case k.opts.Follow:
		return nil, nil //nolint:nilnil // no error; every caller checks for nil
	case k.opts.APIService != "":
		read = k.apiService
	case k.opts.Configuration == "":
		return nil, nil //nolint:nilnil // as above
	}
	r, err := read(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // as above
	case err != nil:
		return nil, fmt.Errorf("cannot read %s: %w", k.object(), err)
	case r.annotations[registration.CAKey] != registration.CAManaged:
		return nil, nil //nolint:nilnil // as above
	}
	r.read = read
	return r, nil
}

// object names the object for messages.
func (k *Keeper) object() string {
	if k.opts.APIService != "" {
		return "APIService " + k.opts.APIService
	}
	return "MutatingWebhookConfiguration " + k.opts.Configuration
}

// configuration reads the MutatingWebhookConfiguration.
func (k *Keeper) configuration(ctx context.Context) (*registered, error) {
	all := k.opts.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	c, err := all.Get(ctx, k.opts.Configuration, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	r := &registered{
		name: c.Name, version: c.ResourceVersion, annotations: c.Annotations,
		patch: func(ctx context.Context, patch []byte) error {
			_, err := all.Patch(ctx, c.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: manager})
			return err
		},
	}
	for i := range c.Webhooks {
		r.bundles = append(r.bundles, c.Webhooks[i].ClientConfig.CABundle)
		r.paths = append(r.paths, fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i))
	}
	return r, nil
}

// apiServices is the resource of APIServices.
var apiServices = schema.GroupVersionResource{
	Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices",
}

// apiService reads the APIService.
func (k *Keeper) apiService(ctx context.Context) (*registered, error) {
	all := k.opts.Dynamic.Resource(apiServices)
	o, err := all.Get(ctx, k.opts.APIService, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	spec, _ := o.Object["spec"].(map[string]any)
	text, _ := spec["caBundle"].(string)
	bundle, _ := base64.StdEncoding.DecodeString(text) // of the API server: valid or empty
	return &registered{
		name: o.GetName(), version: o.GetResourceVersion(), annotations: o.GetAnnotations(),
		bundles: [][]byte{bundle}, paths: []string{"/spec/caBundle"},
		patch: func(ctx context.Context, patch []byte) error {
			by := metav1.PatchOptions{FieldManager: manager}
			_, err := all.Patch(ctx, o.GetName(), types.JSONPatchType, patch, by)
			return err
		},
	}, nil
}

// trusts reports whether every part of an object trusts a certificate; true without an object.
func trusts(r *registered, leaf *x509.Certificate) bool {
	if r == nil {
		return true
	}
	for _, bundle := range r.bundles {
		if !holds(readBundle(bundle), leaf) {
			return false
		}
	}
	return true
}

// inject writes the trusted certificates into an object, unless they are there or another process has written it
// since. It never creates one, because the user may have just uninstalled it.
func (k *Keeper) inject(ctx context.Context, r *registered, s state) error {
	if r == nil {
		return nil
	}
	bundle := s.bundle()
	patch := []map[string]any{{"op": "test", "path": "/metadata/resourceVersion", "value": r.version}}
	for i, path := range r.paths {
		if !bytes.Equal(r.bundles[i], bundle) {
			patch = append(patch, map[string]any{"op": "add", "path": path, "value": bundle})
		}
	}
	if len(patch) == 1 {
		return nil
	}
	text, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("cannot write a patch: %w", err)
	}
	if err = r.patch(ctx, text); err != nil {
		if now, gone := r.read(ctx); apierrors.IsNotFound(gone) || gone == nil && now.version != r.version {
			return nil // another process was first; the next step checks again
		}
		return fmt.Errorf("cannot write the %s's certificate into %s: %w", k.opts.For, k.object(), err)
	}
	k.opts.Log.Info("the "+k.opts.For+"'s certificate was written", "into", k.object())
	return nil
}
