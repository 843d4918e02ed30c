// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"
	"strings"
)

// releases are the Kubernetes versions that can be built, the newest first:
// of each minor the newest patch whose modules can be had. Each is pinned by
// modules/kubernetes-MINOR.mod.
var releases = []string{"v1.37.2", "v1.36.3", "v1.35.4"}

// Versions returns the minor versions of Kubernetes that can be built, such as
// "1.37", the newest first.
func Versions() []string {
	var minors []string
	for _, r := range releases {
		minors = append(minors, minorOf(r))
	}
	return minors
}

// Release returns what the built programs of a minor version report, such as
// "v1.37.2" for "1.37".
func Release(minor string) (string, error) {
	i := slices.Index(Versions(), minor)
	if i < 0 {
		return "", fmt.Errorf("no Kubernetes %q here: want %s", minor, strings.Join(Versions(), ", "))
	}
	return releases[i], nil
}

// minorOf reduces "v1.37.2" to "1.37".
func minorOf(release string) string {
	parts := strings.Split(strings.TrimPrefix(release, "v"), ".")
	return strings.Join(parts[:2], ".")
}

// kubernetesFlags set the version, which a build from modules leaves unset and
// without which `kubectl version` fails.
func kubernetesFlags(release string) string {
	parts := strings.Split(strings.TrimPrefix(release, "v"), ".")
	flags := stripped
	for _, set := range []string{
		"gitVersion=" + release, "gitMajor=" + parts[0], "gitMinor=" + parts[1],
		"gitTreeState=archive", "gitCommit=unknown", "buildDate=1970-01-01T00:00:00Z",
	} {
		flags += " -X k8s.io/component-base/version." + set
	}
	return flags
}
