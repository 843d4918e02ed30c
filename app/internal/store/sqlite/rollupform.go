// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/kube-lifeline/lifeline/app/internal/insight/sample"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// digestSize is the size of rollupDigest.
const digestSize = 4

// rollupForm is the version of the form of the column data of rollups, its first byte.
const rollupForm = 1

// rollupWords are the frequent texts of rollups. Their places are stored: new words come at the end.
var rollupWords = []string{
	"", sample.Total, "startup", "schedule", "attach", "sandbox", "pull", "init", "start", "run", "backoff",
	"readiness", "publish", "terminate", "condition", "retry", "address",
	sample.Image, sample.Registry, sample.Node, sample.Zone, sample.InstanceType, sample.NodePool, sample.Runtime,
	sample.Kubelet, sample.StorageClass, sample.Volumes, sample.Author, sample.Scheduler, sample.Webhook,
	sample.Replicas, sample.Requests, sample.Changed,
	"default-scheduler", "docker.io", "apps", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job",
	"Pod", "Node",
}

// rollupWord has the places of rollupWords.
var rollupWord = func() map[string]uint64 {
	out := make(map[string]uint64, len(rollupWords))
	for i, w := range rollupWords {
		out[w] = uint64(i)
	}
	return out
}()

// encoder encodes rollups. A text is a number: its place among rollupWords, or behind them that of an earlier copy in
// the rollup. The next free place comes with the text itself. The first place behind them is the namespace.
type encoder struct {
	buf  []byte
	next map[string]uint64
}

func (e *encoder) number(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }

func (e *encoder) text(s string) {
	s = text(s)
	at, known := rollupWord[s]
	if !known {
		at, known = e.next[s]
	}
	if known {
		e.number(at)
		return
	}
	at = uint64(len(rollupWords) + len(e.next))
	e.next[s] = at
	e.number(at)
	e.number(uint64(len(s)))
	e.buf = append(e.buf, s...)
}

func (e *encoder) ref(o object.Ref) {
	for _, s := range []string{o.Group, o.Kind.Kind, o.Namespace, o.Name} {
		e.text(s)
	}
}

// phases writes lengths, sorted by name. They have whole microseconds.
func (e *encoder) phases(p sample.Phases) {
	e.number(uint64(len(p)))
	for _, name := range slices.Sorted(maps.Keys(p)) {
		e.text(name)
		e.number(uint64(max(0, p[name]/time.Microsecond)))
	}
}

func (e *encoder) attributes(all []sample.Attribute) {
	e.number(uint64(len(all)))
	for _, a := range all {
		e.text(a.Name)
		e.text(a.Value)
	}
}

// encodeRollup returns the data of a rollup that have no column.
func encodeRollup(r *store.Rollup) []byte {
	e := &encoder{buf: make([]byte, 1, 256), next: map[string]uint64{}}
	e.next[text(r.Namespace)] = uint64(len(rollupWords))
	e.buf[0] = rollupForm
	e.phases(r.Phases)
	e.attributes(r.Attributes)
	e.ref(r.Root)
	e.ref(r.Healed)
	e.ref(r.Above)
	e.number(uint64(len(r.Parts)))
	for i := range r.Parts {
		p := &r.Parts[i]
		e.number(uint64(max(0, p.Count)))
		e.phases(p.Phases)
		e.attributes(p.Attributes)
	}
	return binary.BigEndian.AppendUint32(e.buf, rollupDigest(e.buf))
}

// rollupDigest returns a hash of the data of a rollup, which follows them.
func rollupDigest(data []byte) uint32 { return uint32(xxhash.Sum64(data)) } //nolint:gosec // the low bits suffice

var errRollup = errors.New(damagedRollup)

// damagedRollup begins the error of a function over damaged data: see asDamage.
const damagedRollup = damagedPart + ": a rollup"

// decoder is the inverse of encoder. After the first error, all values are zero.
type decoder struct {
	buf []byte
	err error
	// texts are those behind rollupWords. known has texts of other rollups.
	texts []string
	known map[string]string
}

func (d *decoder) fail() { d.buf, d.err = nil, errRollup }

func (d *decoder) number() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// count returns the length of a list. Each item takes at least two bytes.
func (d *decoder) count() int {
	n := d.number()
	if n > uint64(len(d.buf))/2 {
		d.fail()
		return 0
	}
	return int(n) //nolint:gosec // less than the bytes
}

func (d *decoder) text() string {
	at := d.number()
	if at < uint64(len(rollupWords)) {
		return rollupWords[at]
	}
	at -= uint64(len(rollupWords))
	switch next := uint64(len(d.texts)); {
	case at < next:
		return d.texts[at]
	case at > next:
		d.fail()
		return ""
	}
	n := d.number()
	if n > uint64(len(d.buf)) {
		d.fail()
		return ""
	}
	raw := d.buf[:n]
	d.buf = d.buf[n:]
	s, is := d.known[string(raw)]
	if !is {
		s = string(raw)
		if d.known != nil {
			d.known[s] = s
		}
	}
	d.texts = append(d.texts, s)
	return s
}

func (d *decoder) ref() (o object.Ref) {
	for _, to := range []*string{&o.Group, &o.Kind.Kind, &o.Namespace, &o.Name} {
		*to = d.text()
	}
	return o
}

func (d *decoder) phases() sample.Phases {
	n := d.count()
	out := make(sample.Phases, n)
	for range n {
		name := d.text()
		out[name] = time.Duration(d.number()) * time.Microsecond //nolint:gosec // of a length
	}
	return out
}

func (d *decoder) attributes() []sample.Attribute {
	n := d.count()
	if n == 0 {
		return nil
	}
	out := make([]sample.Attribute, n)
	for i := range out {
		out[i] = sample.Attribute{Name: d.text(), Value: d.text()}
	}
	return out
}

// decodeRollup sets the fields of encodeRollup; to has its namespace. known holds texts of many rollups, and may be
// nil.
func decodeRollup(data []byte, to *store.Rollup, known map[string]string) error {
	end := len(data) - digestSize
	if end < 1 || data[0] != rollupForm || binary.BigEndian.Uint32(data[end:]) != rollupDigest(data[:end]) {
		return errRollup
	}
	d := &decoder{buf: data[1:end], known: known, texts: []string{to.Namespace}}
	to.Phases, to.Attributes = d.phases(), d.attributes()
	to.Root, to.Healed, to.Above = d.ref(), d.ref(), d.ref()
	to.Heals = to.Healed != (object.Ref{})
	n := d.count()
	to.Parts = nil
	if n > 0 {
		to.Parts = make([]sample.Part, n)
	}
	for i := range to.Parts {
		count := int(d.number()) //nolint:gosec // a count
		to.Parts[i] = sample.Part{Count: count, Phases: d.phases(), Attributes: d.attributes()}
	}
	return d.err
}
