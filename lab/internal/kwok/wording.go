// SPDX-License-Identifier: Apache-2.0

package kwok

// wording is the text of a kubelet's Events, which differs by version: template expressions in
// which $c is the container.
type wording struct{ created, started, present string }

// wordingOf returns the words of the kubelet of a minor version.
func wordingOf(minor string) wording {
	if minor < "1.35" { // two digits each
		return wording{
			created: `printf "Created container: %s" $c.spec.name`,
			started: `printf "Started container %s" $c.spec.name`,
			present: `printf "Container image \"%s\" already present on machine" $c.spec.image`,
		}
	}
	return wording{
		created: `"Container created"`,
		started: `"Container started"`,
		present: `printf "Container image \"%s\" already present on machine and can be accessed by the pod" ` +
			`$c.spec.image`,
	}
}
