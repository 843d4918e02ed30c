// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// restarted are the relations of a restart (rule C4): a change of only the annotations of a Pod template. It has links
// to the last change of each ConfigMap and Secret of the template since the template's previous change, and no parent:
// the content may be unrelated, and its reader may have been restarted for another reason.
var restarted = [...]relation{
	{verbs: updated, by: restarts, causes: configs, link: linkConfig, last: edit},
}

// configs returns the ConfigMaps and Secrets of the template of w's object.
func configs(s *Scene, w *change.Write) []*change.Timeline {
	var out []*change.Timeline
	for _, r := range w.Version.Relations {
		if r.Type == object.Config {
			out = append(out, s.Known.Named(r.To)...)
		}
	}
	return out
}

// linkConfig is the reason of a link from a restart to a change of a ConfigMap or Secret.
const linkConfig = "config"

// The fields that the restart of a workload changes: annotations, or a variable of Stakater Reloader.
const (
	pathTemplateAnnotations = "spec.template.metadata.annotations"
	pathContainers          = "spec.template.spec."
	pathReloaderVariable    = ".env[name=STAKATER_"
)

// restarts reports whether w changed a Pod template only to restart its Pods.
func restarts(_ *Scene, w *change.Write) bool {
	return w.Verb == history.Updated && w.Version != nil && len(w.Changed.Paths) > 0 &&
		!slices.ContainsFunc(w.Changed.Paths, func(path string) bool {
			return !strings.HasPrefix(path, pathTemplateAnnotations) &&
				!(strings.HasPrefix(path, pathContainers) && strings.Contains(path, pathReloaderVariable))
		})
}

// templateBefore returns the resourceVersion of the last change of the Pod template before w. It is 0
// if that is unknown, as from before the start.
func templateBefore(s *Scene, w *change.Write) uint64 {
	last := uint64(0)
	for _, r := range s.Placed.History(w.Timeline.Ref.UID) {
		last = max(last, r.TemplateBefore(w.RV))
	}
	return last
}

// edit returns the last change of the content of t between the last change of the Pod template and w; nil without one.
func edit(s *Scene, w *change.Write, t *change.Timeline) *change.Reconciliation {
	since := templateBefore(s, w)
	return instantBefore(s, w, t, func(r *change.Reconciliation) bool {
		first := r.First()
		return first.Verb == history.Updated && first.RV > since &&
			slices.Contains(first.Changed.Paths, observation.PathData)
	})
}

// Sources returns the objects outside its trace that a span of w refers to. For a scaling by an
// autoscaler this is the autoscaler alone. Otherwise they are, depending on w:
//   - the causes in relations of the configuration, and the other objects of Events
//   - the objects of tools of delivery
//   - the ConfigMaps and Secrets of a restart
//   - the quotas and LimitRanges that had refused the object
func Sources(s *Scene, w *change.Write) []*change.Timeline {
	if t := Autoscaler(s, w); t != nil {
		return []*change.Timeline{t}
	}
	out := append(declared(s, w), reported(s, w)...)
	if to, tool := applier(w); tool != nil {
		return append(out, s.Known.Named(to)...)
	}
	if w.Verb == history.Created {
		if up := refusedOwner(s, w); up != nil {
			for _, r := range up.Refers() {
				if Refuses(r) {
					out = append(out, s.Known.Named(r.To)...)
				}
			}
		}
		return out
	}
	if restarts(s, w) {
		return append(out, configs(s, w)...)
	}
	return out
}
