// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"regexp"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

// service begins the names of the traced methods.
const service = "/csi.v1.Node/"

// The traced methods.
const (
	methodStage     = service + "NodeStageVolume"
	methodUnstage   = service + "NodeUnstageVolume"
	methodPublish   = service + "NodePublishVolume"
	methodUnpublish = service + "NodeUnpublishVolume"
	methodExpand    = service + "NodeExpandVolume"
)

// layout has the numbers of the fields of a request; 0 means none. Field 1 is the volume's ID in all
// of them.
type layout struct{ target, context protowire.Number }

var layouts = map[string]layout{
	methodStage:     {},
	methodUnstage:   {},
	methodPublish:   {target: 4, context: 8},
	methodUnpublish: {target: 2},
	methodExpand:    {target: 2},
}

// The keys of a volume's context with the Pod, if the CSIDriver has podInfoOnMount.
const (
	contextPodName   = "csi.storage.k8s.io/pod.name"
	contextNamespace = "csi.storage.k8s.io/pod.namespace"
)

// request is the traced part of a request.
type request struct {
	// volume is the ID that the driver gave to the volume.
	volume string
	// target is the path at which a Pod has the volume.
	target string
	// name is the name of the PersistentVolume, or of an inline volume in its Pod.
	name string
	pod  pod
}

// pod identifies a Pod. namespace and name may be empty.
type pod struct{ uid, namespace, name string }

// read decodes the traced part of a request. It returns false for a method without spans and for invalid
// protobuf.
func read(method string, data []byte) (request, bool) {
	at, traced := layouts[method]
	if !traced {
		return request{}, false
	}
	var r request
	whole := each(data, func(field protowire.Number, value []byte) {
		switch {
		case field == 1:
			r.volume = text(value)
		case field == at.target && at.target != 0:
			r.target = string(value)
		case field == at.context && at.context != 0:
			r.annotate(value)
		}
	})
	r.pod.uid, r.name = podOf(r.target)
	return r, whole
}

// annotate reads one entry of a volume's context. It decodes no value of another key: that may be a
// secret, such as a token of the Pod's service account.
func (r *request) annotate(entry []byte) {
	var key, value []byte
	each(entry, func(field protowire.Number, data []byte) {
		switch field {
		case 1:
			key = data
		case 2:
			value = data
		}
	})
	switch string(key) {
	case contextPodName:
		r.pod.name = text(value)
	case contextNamespace:
		r.pod.namespace = text(value)
	}
}

// each calls found with each field of a length-delimited type. It returns false if the data is no
// protobuf.
func each(data []byte, found func(protowire.Number, []byte)) bool {
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return false
		}
		data = data[n:]
		if kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(data)
			if n < 0 {
				return false
			}
			found(field, value)
			data = data[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(field, kind, data); n < 0 {
			return false
		}
		data = data[n:]
	}
	return true
}

// The paths that a kubelet makes for the volumes of a Pod: a directory, or a block device.
var (
	directory = regexp.MustCompile(`/pods/([0-9A-Za-z-]{1,64})/volumes/kubernetes\.io~csi/([^/]{1,253})/mount$`)
	device    = regexp.MustCompile(`/kubernetes\.io/csi/volumeDevices/publish/([^/]{1,253})/([0-9A-Za-z-]{1,64})$`)
)

// podOf returns the Pod's UID and the volume's name in a path of a kubelet; empty for another path.
func podOf(path string) (uid, volume string) {
	if m := directory.FindStringSubmatch(path); m != nil {
		return m[1], text([]byte(m[2]))
	}
	if m := device.FindStringSubmatch(path); m != nil {
		return m[2], text([]byte(m[1]))
	}
	return "", ""
}

// text returns valid, bounded text. It copies no more of b than that.
func text(b []byte) string { return tracing.Text(string(b[:min(len(b), tracing.MaxText)])) }
