// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"slices"
	"time"
)

// final are the categories that nothing in sight changes, and how long a reason of them must last. In
// that time the rest of a command's objects may come, old Pods may leave, and an autoscaler may promise
// a node.
var final = map[Category]time.Duration{
	ImageNotFound: 0, ImageInvalid: 0, ImageNeverPulled: 0, InvalidCommand: 0, RuntimeClassMissing: 0,
	LimitRange: 0, PodSecurity: 0, RefusedByPolicy: 0, Invalid: 0,

	ImageUnauthorized: 10 * time.Second, ConfigMapMissing: 10 * time.Second, SecretMissing: 10 * time.Second,
	KeyMissing: 10 * time.Second, ServiceAccountMissing: 10 * time.Second, ClaimMissing: 10 * time.Second,
	ClaimWithoutClass: 10 * time.Second, PriorityClassMissing: 10 * time.Second,
	VolumeDriverMissing: 10 * time.Second, QuotaExceeded: 10 * time.Second,

	Unschedulable: 15 * time.Second, UnschedulableCPU: 15 * time.Second, UnschedulableMemory: 15 * time.Second,
	UnschedulableResource: 15 * time.Second, UnschedulableNodeSelector: 15 * time.Second,
	UnschedulableAffinity: 15 * time.Second, UnschedulableTaint: 15 * time.Second,
	UnschedulableTopologySpread: 15 * time.Second, UnschedulablePort: 15 * time.Second,
	UnschedulableVolumeZone: 15 * time.Second, UnschedulableNoNodes: 15 * time.Second,
}

// Weight orders reasons: 0 for an ordinary wait, 1 for a reason of the list, 2 for one that may become
// final.
func (r *Reason) Weight() int { return max(r.Category.weight(), r.Cause.weight()) }

func (c Category) weight() int {
	switch _, found := final[c]; {
	case c == "":
		return 0
	case found, slices.Contains(crashes, c):
		return 2
	}
	return 1
}

// crashes are the categories of a container that ends again and again.
var crashes = []Category{CrashLoop, OutOfMemory, InitFailed, LivenessProbe}

// Final reports whether nothing in sight changes a reason that has lasted for that time. crash is the
// time after which a crash loop counts as final.
func (c Category) Final(lasted, crash time.Duration) bool {
	if slices.Contains(crashes, c) {
		return lasted >= crash
	}
	least, found := final[c]
	return found && lasted >= least
}
