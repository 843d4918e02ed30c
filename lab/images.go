// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/kube-lifeline/lifeline/lab/internal/build"
	"github.com/kube-lifeline/lifeline/lab/internal/registry"
	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// pauseImage is the sandbox image in a cluster's registry.
const pauseImage = "pause:lab"

// errNoRegistry is returned where only NodesReal has a registry.
var errNoRegistry = errors.New("the cluster has no registry: its nodes are not real")

// defaultImages are in every registry. The versions of app hold the same
// program and differ in their environment, so that a rollout has something to
// roll out. web:1 is the image of examples/web.yaml, registry.example/web:1.
var defaultImages = map[string]testimage.Spec{
	pauseImage: {},
	"app:v1":   {Env: []string{"PORT=" + testimage.DefaultPort, "VERSION=v1"}},
	"app:v2":   {Env: []string{"PORT=" + testimage.DefaultPort, "VERSION=v2"}},
	"web:1":    {},
}

func (n *realNodes) pushDefaults(ctx context.Context) error {
	for nameAndTag, spec := range defaultImages {
		if _, err := push(ctx, n.registry, nameAndTag, spec); err != nil {
			return err
		}
	}
	return nil
}

func push(ctx context.Context, to registry.Client, nameAndTag string, spec testimage.Spec) (string, error) {
	if spec.Program == "" {
		cache, err := build.CacheDir()
		if err != nil {
			return "", err
		}
		if spec.Program, err = testimage.Build(ctx, filepath.Join(cache, "bin")); err != nil {
			return "", err
		}
	}
	img, err := testimage.New(spec.Program, spec)
	if err != nil {
		return "", fmt.Errorf("cannot make image %s: %w", nameAndTag, err)
	}
	return to.Push(ctx, nameAndTag, img)
}

// Image returns the full reference of an image in the cluster's registry, such
// as 127.0.0.1:5000/app:v1 for "app:v1". That image and app:v2 are always
// there; they listen on testimage.DefaultPort. Without NodesReal there is no
// registry, and the result, which names none, is good for fake Pods.
func (c *Cluster) Image(nameAndTag string) string {
	if n, ok := c.nodes.(*realNodes); ok {
		return n.registry.Image(nameAndTag)
	}
	return "registry.lab/" + nameAndTag
}

// PushImage makes an image and stores it in the cluster's registry under a
// name and tag such as "app:slow". It returns the full reference. It needs
// NodesReal.
func (c *Cluster) PushImage(ctx context.Context, nameAndTag string, spec testimage.Spec) (string, error) {
	n, ok := c.nodes.(*realNodes)
	if !ok {
		return "", errNoRegistry
	}
	return push(ctx, n.registry, nameAndTag, spec)
}

// SetPullBandwidth changes Options.PullBandwidth of a running cluster, also
// for pulls under way: bytes a second, zero for no limit. It needs NodesReal.
func (c *Cluster) SetPullBandwidth(ctx context.Context, bytesPerSecond int64) error {
	n, ok := c.nodes.(*realNodes)
	if !ok {
		return errNoRegistry
	}
	return n.registry.SetBandwidth(ctx, bytesPerSecond)
}

// PushImage is Cluster.PushImage for a cluster that another process started.
func (i Info) PushImage(ctx context.Context, nameAndTag string, spec testimage.Spec) (string, error) {
	if i.Registry == "" {
		return "", errNoRegistry
	}
	return push(ctx, registry.Client{Address: i.Registry}, nameAndTag, spec)
}

// SetPullBandwidth is Cluster.SetPullBandwidth for a cluster that another
// process started.
func (i Info) SetPullBandwidth(ctx context.Context, bytesPerSecond int64) error {
	if i.Registry == "" {
		return errNoRegistry
	}
	return registry.Client{Address: i.Registry}.SetBandwidth(ctx, bytesPerSecond)
}
