// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	// Repository is that of the published images.
	Repository = "ghcr.io/kube-lifeline/lifeline"
	// NoStorage is the value of Options.Storage for an emptyDir.
	NoStorage = "none"
	// DefaultStorage is the size of a volume claim.
	DefaultStorage = "10Gi"

	// name is that of all objects, and a prefix of it.
	name = "lifeline"
	// data is the volume with the traces.
	data = "data"
)

// Options are the differences from the default manifests.
type Options struct {
	// Namespace is that of the server.
	Namespace string
	// Image is that of the server.
	Image string
	// Replicas are one server, or two of which one stands by.
	Replicas int
	// Webhook makes the server answer the admission webhook.
	Webhook bool
	// Storage is the size of the volume claim of each server, or [NoStorage]. Empty means the size of an
	// installed server, or else [DefaultStorage].
	Storage string
	// StorageClass is the class of the claims. Empty means the cluster's default.
	StorageClass string
}

// Validate returns an error for impossible options.
func (o *Options) Validate() error {
	switch {
	case len(validation.IsDNS1123Label(o.Namespace)) > 0:
		return fmt.Errorf("--namespace %q: it must be a DNS label, small letters, digits and '-'", o.Namespace)
	case o.Image == "":
		return errors.New("--image: it must name an image")
	case o.Replicas != 1 && o.Replicas != 2:
		return fmt.Errorf("--replicas %d: it must be 1, or 2 for a server that stands by", o.Replicas)
	case o.Storage == NoStorage && o.StorageClass != "":
		return errors.New("give either --storage none or --storage-class")
	case o.Storage == "" || o.Storage == NoStorage:
		return nil
	}
	q, err := resource.ParseQuantity(o.Storage)
	if err != nil || q.Value() < 100<<20 {
		return fmt.Errorf("--storage %q: it must be a size of at least 100Mi, such as 10Gi, or none", o.Storage)
	}
	return nil
}

// released matches the versions that have an image.
var released = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:-(?:alpha|beta|rc)\.?[0-9]+)?)$`)

// Image returns the published image of a version.
func Image(version string) (string, error) {
	m := released.FindStringSubmatch(version)
	if m == nil {
		return "", fmt.Errorf("this build (%s) has no published image: push one, and name it with --image", version)
	}
	return Repository + ":" + m[1], nil
}
