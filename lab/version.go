// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"os"

	"github.com/kube-lifeline/lifeline/lab/internal/build"
)

// VersionEnv names the environment variable that decides which Kubernetes a
// cluster is whose options do not: a minor version such as "1.35". So a test
// runs on another version without knowing of it.
const VersionEnv = "LIFELINE_LAB_KUBERNETES"

// Versions returns the minor versions of Kubernetes that the lab can run, such
// as "1.37", the newest first.
func Versions() []string { return build.Versions() }

// version is the minor version that the options mean.
func (o Options) version() string {
	return cmp.Or(o.Version, os.Getenv(VersionEnv), build.Versions()[0])
}

// Release returns the cluster's version of Kubernetes in full, such as
// "v1.37.2".
func (c *Cluster) Release() string {
	release, _ := build.Release(c.opts.Version) // Validate saw to it
	return release
}
