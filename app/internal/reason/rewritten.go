// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
)

// images are the categories of a pull that fails.
var images = []Category{
	ImagePull, ImageNotFound, ImageUnauthorized, RegistryUnreachable, ImageInvalid, ImageNeverPulled,
}

// Rewritten returns the reason r of the Pod. If the image of a failing pull is not that of the owner's template,
// admission has changed it: the reason says so. owner is nil for a Pod without an owner. by returns the names of the
// objects that may have changed it.
func Rewritten(pod, owner *history.Version, r Reason, by func() []string) Reason {
	if owner == nil || !slices.Contains(images, r.Category) || !wholeTemplate(owner) {
		return r
	}
	for _, list := range []struct {
		path string
		init bool
	}{{"initContainers", true}, {"containers", false}} {
		c := pod.Pod.Container(r.Container, list.init)
		if c == nil {
			continue
		}
		wanted := owner.Field("spec.template.spec." + list.path + "[name=" + r.Container + "].image")
		if wanted != nil && wanted.Shown != "" && wanted.Shown != c.Image {
			r.Text += "; admission changed its image from " + wanted.Shown
			if names := by(); len(names) > 0 {
				r.Text += " (" + strings.Join(names, " or ") + ")"
			}
		}
		return r
	}
	return r
}

// wholeTemplate reports whether each Pod of the owner has the owner's present template.
func wholeTemplate(owner *history.Version) bool {
	w := owner.Workload
	switch {
	case kind.ReplicaSet.Is(owner.Kind), kind.Job.Is(owner.Kind):
		return true // their templates do not change
	case kind.StatefulSet.Is(owner.Kind), kind.DaemonSet.Is(owner.Kind):
		return w != nil && owner.ObservedGeneration >= owner.Generation && w.Updated >= w.Total
	}
	return false
}
