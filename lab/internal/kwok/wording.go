// SPDX-License-Identifier: Apache-2.0

package kwok

// The texts of a kubelet's Events: template expressions in which $c is the container. They are the
// same in all versions of Kubernetes that the lab runs.
const (
	sayCreated = `"Container created"`
	sayStarted = `"Container started"`
	sayPresent = `printf "Container image \"%s\" already present on machine and can be accessed by the pod" ` +
		`$c.spec.image`
)
