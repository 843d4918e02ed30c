// SPDX-License-Identifier: Apache-2.0

package sample

import (
	"slices"
	"strings"
)

// hub is the registry of images without one.
const hub = "docker.io"

// RegistryOf returns the registry of an image's reference, by the rules of github.com/distribution/reference: the part
// before the first slash if it looks like a host, else docker.io. It is empty for an empty image.
func RegistryOf(image string) string {
	if image == "" {
		return ""
	}
	host, _, found := strings.Cut(image, "/")
	switch {
	case !found, !strings.ContainsAny(host, ".:") && host != "localhost" && strings.ToLower(host) == host:
		return hub
	case host == "index."+hub:
		return hub
	}
	return host
}

// RepositoryOf returns an image's reference without tag and digest.
func RepositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		image = image[:colon]
	}
	return image
}

// WithRegistries returns attributes with the registries of their images, sorted and without repetitions. It returns the
// same slice if they are all there.
func WithRegistries(attributes []Attribute) []Attribute {
	out := attributes
	for _, a := range attributes {
		if a.Name != Image || a.Value == "" {
			continue
		}
		registry := Attribute{Registry, RegistryOf(a.Value)}
		at, has := slices.BinarySearchFunc(out, registry, Attribute.Compare)
		if !has {
			out = slices.Insert(slices.Clone(out), at, registry)
		}
	}
	return out
}
