// SPDX-License-Identifier: Apache-2.0

package span

import "github.com/kube-lifeline/lifeline/app/internal/object"

// Facts is the data about an object that questions use, beside its spans. The engine sets it on the
// span of each reconciliation. It never changes afterwards, so spans may share it. It has no data of
// a Secret or ConfigMap.
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
}

// packFactsForm is the version of PackFacts' format.
const packFactsForm = 1

// PackFacts encodes f for UnpackFacts; nil as nil. The texts pass through clean.
func PackFacts(f *Facts, clean func(string) string) []byte {
	if f == nil {
		return nil
	}
	p := packer{known: map[string]uint64{}, buf: make([]byte, 0, 128), clean: clean}
	p.byte(packFactsForm)
	p.facts(&f)
	return p.buf
}

// UnpackFacts is the inverse of PackFacts. It returns an error for other or damaged data.
func UnpackFacts(data []byte) (*Facts, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // documented
	}
	p := packer{reading: true, buf: data}
	if form := p.byte(packFactsForm); form != packFactsForm {
		p.fail()
	}
	var f *Facts
	p.facts(&f)
	return f, p.err
}

// facts encodes what is there by flags. It only reads *v while packing.
func (p *packer) facts(v **Facts) {
	const there, isPod = 1, 2
	var flags byte
	if *v != nil {
		flags = there
		if (*v).Pod != nil {
			flags |= isPod
		}
	}
	if flags = p.byte(flags); flags&there == 0 {
		return
	}
	if p.reading {
		*v = &Facts{}
	}
	f := *v
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
	if flags&isPod == 0 {
		return
	}
	if p.reading {
		f.Pod = &PodFacts{}
	}
	p.int(&f.Pod.Volumes)
	p.text(&f.Pod.Node)
	p.text(&f.Pod.Zone)
	n = len(f.Pod.Images)
	p.len(&n)
	if p.reading && n > 0 {
		f.Pod.Images = make([]string, n)
	}
	for i := range f.Pod.Images {
		p.text(&f.Pod.Images[i])
	}
}
