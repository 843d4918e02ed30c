// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the user and group of the images. It has no name outside of them, as in other images without root.
const user = "65532:65532"

// program is one program with an image of its own.
type program struct {
	name, title string
	arguments   []string // the default ones
}

// image returns the image for each architecture of binaries, the paths of the program. Below the program is a layer
// that all images share: the roots of certificates, the user, the licence. It has no shell and nothing to write to.
func (p program) image(o options, binaries map[string]string) (v1.ImageIndex, error) {
	license, err := os.ReadFile(filepath.Join(o.source, "LICENSE"))
	if err != nil {
		return nil, err
	}
	base, err := layer(o.created, []entry{
		{name: "etc/group", text: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "etc/passwd", text: []byte(
			"root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{name: "etc/ssl/certs/ca-certificates.crt", text: roots()},
		{name: "usr/share/doc/lifeline/LICENSE", text: license},
	})
	if err != nil {
		return nil, err
	}
	labels := map[string]string{
		"org.opencontainers.image.title":    p.title,
		"org.opencontainers.image.version":  o.number(),
		"org.opencontainers.image.revision": o.revision,
		"org.opencontainers.image.created":  o.created.Format("2006-01-02T15:04:05Z"),
		"org.opencontainers.image.source":   "https://github.com/kube-lifeline/lifeline",
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range slices.Sorted(maps.Keys(binaries)) {
		text, err := os.ReadFile(binaries[arch])
		if err != nil {
			return nil, err
		}
		top, err := layer(o.created, []entry{{name: p.name, text: text, mode: 0o755}})
		if err != nil {
			return nil, err
		}
		platform := v1.Platform{OS: "linux", Architecture: arch}
		image, err := p.platformImage(o, platform, labels, base, top)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index,
			mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return mutate.Annotations(index, labels).(v1.ImageIndex), nil
}

func (p program) platformImage(
	o options, platform v1.Platform, labels map[string]string, layers ...v1.Layer,
) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.AppendLayers(image, layers...)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = platform.OS, platform.Architecture
	file.Created = v1.Time{Time: o.created}
	file.History = slices.Repeat([]v1.History{{Created: v1.Time{Time: o.created}, CreatedBy: "release"}}, len(layers))
	file.Config = v1.Config{
		Entrypoint: []string{"/" + p.name},
		Cmd:        p.arguments,
		Env:        []string{"PATH=/"}, // for kubectl exec … -- lifeline
		User:       user,
		WorkingDir: "/",
		Labels:     labels,
	}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, labels).(v1.Image), nil
}
