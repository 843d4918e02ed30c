// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

const (
	// maxWait is how long a finished span waits for its Pod.
	maxWait = 10 * time.Minute
	// maxWaiting bounds these spans, and maxKnown the volumes and paths that are remembered.
	maxWaiting, maxKnown = 1024, 8192
)

// volumes remembers which Pod uses which volume. A request to stage a volume names no Pod: the next
// publication of the volume does. A request to unstage it comes after the last Pod's unpublication.
type volumes struct {
	mu      sync.Mutex
	waiting map[string][]*held
	held    int
	// last has the Pod that published or unpublished a volume last.
	last map[string]pod
	// published are the paths at which a volume is. A kubelet may publish it there again and again.
	published map[string]struct{}
}

// held is a finished call without a known Pod.
type held struct {
	span  trace.Span
	end   time.Time
	timer *time.Timer
}

func newVolumes() *volumes {
	return &volumes{waiting: map[string][]*held{}, last: map[string]pod{}, published: map[string]struct{}{}}
}

// hold ends a span at the given time, as soon as the Pod of its volume is known, or after maxWait.
func (v *volumes) hold(volume string, s trace.Span, end time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held >= maxWaiting {
		s.End(trace.WithTimestamp(end))
		return
	}
	v.held++
	h := &held{span: s, end: end}
	h.timer = time.AfterFunc(maxWait, func() { v.expire(volume, h) })
	v.waiting[volume] = append(v.waiting[volume], h)
}

// use records that a Pod uses a volume, and ends the spans that waited for that.
func (v *volumes) use(volume string, by pod) {
	v.release(volume, by)
	v.mu.Lock()
	defer v.mu.Unlock()
	remember(v.last, volume, by)
}

// release ends the spans of a volume. They have the Pod's attributes, if it is known.
func (v *volumes) release(volume string, by pod) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, h := range v.waiting[volume] {
		v.finish(h, by)
	}
	delete(v.waiting, volume)
}

// expire ends one span without a Pod, unless it has ended.
func (v *volumes) expire(volume string, h *held) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := slices.Index(v.waiting[volume], h)
	if at < 0 {
		return
	}
	v.finish(h, pod{})
	if v.waiting[volume] = slices.Delete(v.waiting[volume], at, at+1); len(v.waiting[volume]) == 0 {
		delete(v.waiting, volume)
	}
}

// finish ends one span. The caller holds the lock, and removes the span from those that wait.
func (v *volumes) finish(h *held, by pod) {
	h.timer.Stop()
	h.span.SetAttributes(by.attributes()...)
	h.span.End(trace.WithTimestamp(h.end))
	v.held--
}

// close ends all spans.
func (v *volumes) close() {
	v.mu.Lock()
	all := make([]string, 0, len(v.waiting))
	for volume := range v.waiting {
		all = append(all, volume)
	}
	v.mu.Unlock()
	for _, volume := range all {
		v.release(volume, pod{})
	}
}

// user returns the Pod that used a volume last.
func (v *volumes) user(volume string) pod {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.last[volume]
}

// isPublished reports whether a volume is at a path.
func (v *volumes) isPublished(path string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, is := v.published[path]
	return is
}

func (v *volumes) publish(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	remember(v.published, path, struct{}{})
}

func (v *volumes) unpublish(path string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.published, path)
}

// unstage forgets a volume.
func (v *volumes) unstage(volume string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.last, volume)
}

// remember adds a value. Above maxKnown it forgets another one.
func remember[T any](in map[string]T, key string, value T) {
	if _, known := in[key]; !known && len(in) >= maxKnown {
		for other := range in {
			delete(in, other)
			break
		}
	}
	in[key] = value
}

// attributes are those of a span of the Pod; none for an unknown Pod.
func (p pod) attributes() []attribute.KeyValue {
	var out []attribute.KeyValue
	for _, kv := range [...]attribute.KeyValue{
		keyPodUID.String(p.uid), keyNamespace.String(p.namespace), keyPodName.String(p.name),
	} {
		if kv.Value.AsString() != "" {
			out = append(out, kv)
		}
	}
	return out
}
