// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/index"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// defaultScheduler is the scheduler of a Pod that names none.
const defaultScheduler = "default-scheduler"

// maxClasses bounds the storage classes of a Pod.
const maxClasses = 8

// appendCircumstances appends what may explain how long a change of t took: the replicas of a workload, or the
// scheduler, the storage classes and the requests of a Pod.
func appendCircumstances(out []attribute.KeyValue, t *change.Timeline, known index.View) []attribute.KeyValue {
	last := t.Last()
	switch {
	case last == nil:
	case last.Workload != nil:
		out = append(out, span.KeyReplicas.Int(int(last.Workload.Replicas)))
	case last.Pod != nil && kind.Pod.Is(t.Ref.Kind):
		if name := last.Pod.Scheduler; name != "" && name != defaultScheduler {
			out = append(out, span.KeyScheduler.String(span.Bound(name)))
		}
		if classes := storageClasses(last, known); len(classes) > 0 {
			out = append(out, span.KeyStorageClasses.StringSlice(classes))
		}
		cpu, memory := requests(last)
		if cpu > 0 {
			out = append(out, span.KeyCPU.Int64(cpu))
		}
		if memory > 0 {
			out = append(out, span.KeyMemory.Int64(memory))
		}
	}
	return out
}

// storageClasses returns the storage classes of the claims of a Pod, each once.
func storageClasses(pod *history.Version, known index.View) (out []string) {
	for _, claim := range pod.Relations {
		if claim.Type != object.Claim {
			continue
		}
		for _, t := range known.Named(claim.To) {
			last := t.Last()
			if last == nil || !kind.PersistentVolumeClaim.Is(t.Ref.Kind) {
				continue
			}
			for _, class := range last.Relations {
				name := span.Bound(class.To.Name)
				if class.Type == object.Class && len(out) < maxClasses && !slices.Contains(out, name) {
					out = append(out, name)
				}
			}
		}
	}
	return out
}

// requests returns the sum of what the containers of a Pod request, in thousandths of a CPU and in bytes.
func requests(pod *history.Version) (cpu, memory int64) {
	if pod.Fields == nil {
		return 0, 0
	}
	for i := range pod.Fields.Leaves {
		l := &pod.Fields.Leaves[i]
		if l.Shown == "" || !strings.HasPrefix(l.Path, "spec.containers[") {
			continue
		}
		of, isCPU := strings.CutSuffix(l.Path, "].resources.requests.cpu")
		if !isCPU {
			var isMemory bool
			if of, isMemory = strings.CutSuffix(l.Path, "].resources.requests.memory"); !isMemory {
				continue
			}
		}
		q, err := resource.ParseQuantity(l.Shown)
		switch {
		case err != nil, strings.Contains(of, "]"):
		case isCPU:
			cpu += max(0, q.MilliValue())
		default:
			memory += max(0, q.Value())
		}
	}
	return cpu, memory
}
