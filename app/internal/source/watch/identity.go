// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Identity returns the cluster's name: the UID of its namespace kube-system, which is the same for
// every observer. If that namespace is forbidden or missing, it returns a hash of the server's
// address and certificate authority.
func Identity(ctx context.Context, cfg *rest.Config) (string, error) {
	l, err := dial(cfg, nil)
	if err != nil {
		return "", err
	}
	defer l.hangUp()
	namespaces := l.metadata.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
	system, err := namespaces.Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
	switch {
	case err == nil:
		return string(system.UID), nil
	case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
		return "", fmt.Errorf("cannot identify the cluster at %s: %w", cfg.Host, err)
	}
	loaded := rest.CopyConfig(cfg)
	if err := rest.LoadTLSFiles(loaded); err != nil {
		return "", fmt.Errorf("cannot read the certificates for %s: %w", cfg.Host, err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s", loaded.Host, loaded.CAData)
	return "server-" + hex.EncodeToString(h.Sum(nil)[:8]), nil
}
