// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"bytes"
	"compress/flate"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// sealForm is the version of the compressed form of packed traces: the compression and its dictionary.
const sealForm = 1

// maxSealed bounds the unpacked size of a part, against damaged data.
const maxSealed = 1 << 30

// dictionary has frequent texts of small traces, the most frequent last. A change needs another
// sealForm.
var dictionary = []byte(strings.Join([]string{
	"k8s.namespace.name", "app.kubernetes.io/name", "spec.template.spec.containers[name=", "].image", "spec.replicas",
	"metadata.labels", "lifeline.reason.category", "lifeline.heals", "lifeline.command", "lifeline.attempt",
	"audit-id", "http.request.method", "lifeline.time.end", "lifeline.subresource", "lifeline.object.uid",
	"apps", "batch", "networking.k8s.io", "discovery.k8s.io", "Job", "StatefulSet", "DaemonSet", "EndpointSlice",
	"Service", "ConfigMap", "Secret", "Node", "Deployment", "ReplicaSet", "Pod", "v1", "default", "kube-system",
	"terminate", "publish", "run", "init container", "container", "image", "wait", "kubectl", "kube-apiserver",
	"endpointslice-controller", "kube-scheduler", "deployment-controller", "replicaset-controller", "kubelet",
	"schedule", "pod sandbox", "pull image", "start container", "readiness", "failed", "superseded", "deleted",
	"unfinished", "converged", "annotation", "request", "identity", "relation", "event", "time", "owner",
	"replace", "remove", "add", "metadata", "bookkeeping", "observed", "desired", "patch", "delete", "update", "create",
	"lifeline.kind", "lifeline.name", "lifeline.namespace", "lifeline.evidence", "lifeline.generation",
	"lifeline.resource_version", "lifeline.actor.user", "lifeline.actor", "lifeline.part", "lifeline.verb",
	"reconcile Pod", "audit", "object", "watch", "write",
}, ""))

var (
	compressors = sync.Pool{New: func() any {
		w, _ := flate.NewWriterDict(io.Discard, flate.DefaultCompression, dictionary) // a valid level
		return w
	}}
	decompressors = sync.Pool{New: func() any { return flate.NewReaderDict(bytes.NewReader(nil), dictionary) }}
)

// seal packs and compresses a trace.
func seal(t *span.Trace) ([]byte, error) {
	packed := span.PackTrace(t)
	out := bytes.NewBuffer(make([]byte, 0, len(packed)/2+64))
	out.WriteByte(sealForm)
	w, _ := compressors.Get().(*flate.Writer)
	defer compressors.Put(w)
	w.Reset(out)
	if _, err := w.Write(packed); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

var errSealed = errors.New("the compressed data are damaged")

// unseal is the inverse of seal.
func unseal(data []byte) (*span.Trace, error) {
	if len(data) == 0 || data[0] != sealForm {
		return nil, errSealed
	}
	r, _ := decompressors.Get().(io.ReadCloser)
	defer decompressors.Put(r)
	resetter, is := r.(flate.Resetter)
	if !is {
		return nil, errSealed
	}
	if err := resetter.Reset(bytes.NewReader(data[1:]), dictionary); err != nil {
		return nil, err
	}
	out := bytes.NewBuffer(make([]byte, 0, 8*len(data)))
	if n, err := io.Copy(out, io.LimitReader(r, maxSealed)); err != nil || n == maxSealed {
		return nil, errors.Join(errSealed, err)
	}
	return span.UnpackTrace(out.Bytes())
}
