// SPDX-License-Identifier: Apache-2.0

package span

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Facts is the data for questions, beside the attributes of a span. The engine sets it on the span of
// each reconciliation and of each stored write. It never changes afterwards, so spans may share it. It
// has no data of a Secret or ConfigMap. All fields but Writes are those of a reconciliation.
type Facts struct {
	// Verb is that of the first write: create, update or delete; empty if unknown.
	Verb string `json:"verb,omitempty"`
	// Reason is the category of the failure or the wait, as in package reason; empty without one.
	Reason string `json:"reason,omitempty"`
	// Workload is the kind and the name of the topmost workload above the object, or of the object
	// itself, as in "Deployment/web"; empty without one.
	Workload string `json:"workload,omitempty"`
	// Pod is set for an object with a Pod's spec.
	Pod *PodFacts `json:"pod,omitempty"`
	// Labels are those with the configured keys, sorted by key.
	Labels []object.Label `json:"labels,omitempty"`
	// Writes are the stored writes of the span, in the order of time. Writes with a span of their own
	// are there.
	Writes []Write `json:"writes,omitempty"`
}

// PodFacts is the part of Facts for Pods.
type PodFacts struct {
	// Volumes is the number of volumes.
	Volumes int64 `json:"volumes"`
	// Node is the node; empty until bound. Zone is the zone of the Node; empty if unknown.
	Node string `json:"node,omitempty"`
	Zone string `json:"zone,omitempty"`
	// Images are those of all containers, each once.
	Images []string `json:"images,omitempty"`
	// Restarts is the number of restarts of all containers.
	Restarts int64 `json:"restarts,omitempty"`
	// Ended means that a container has ended, and ExitCode is that of the last one.
	Ended    bool  `json:"ended,omitempty"`
	ExitCode int64 `json:"exitCode,omitempty"`
}

// facts encodes the facts of a span. It only reads *v while packing.
func (p *packer) facts(v **Facts) {
	if p.reading {
		*v = &Facts{}
	}
	f := *v
	var isPod byte
	if f.Pod != nil {
		isPod = 1
	}
	isPod = p.byte(isPod)
	p.text(&f.Verb)
	p.text(&f.Reason)
	p.text(&f.Workload)
	n := len(f.Labels)
	p.len(&n)
	if p.reading && n > 0 {
		f.Labels = make([]object.Label, n)
	}
	for i := range f.Labels {
		p.text(&f.Labels[i].Key)
		p.text(&f.Labels[i].Value)
	}
	if isPod != 0 {
		if p.reading {
			f.Pod = &PodFacts{}
		}
		p.pod(f.Pod)
	}
	p.writes(&f.Writes)
}

func (p *packer) pod(f *PodFacts) {
	p.int(&f.Volumes)
	p.text(&f.Node)
	p.text(&f.Zone)
	n := len(f.Images)
	p.len(&n)
	if p.reading && n > 0 {
		f.Images = make([]string, n)
	}
	for i := range f.Images {
		p.text(&f.Images[i])
	}
	p.int(&f.Restarts)
	var ended byte
	if f.Ended {
		ended = 1
	}
	if ended = p.byte(ended); p.reading { // others may read the facts that are packed
		f.Ended = ended != 0
	}
	p.int(&f.ExitCode)
}
