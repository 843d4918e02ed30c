// SPDX-License-Identifier: Apache-2.0

package csi

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kube-lifeline/lifeline/kubelet/internal/tracing"
)

func TestPodOf(t *testing.T) {
	const uid = "0b8bb6b8-4a4c-4bb9-9d39-9e26a7c1a1f2"
	for path, want := range map[string][2]string{
		"/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/pvc-1/mount": {uid, "pvc-1"},
		"/k/plugins/kubernetes.io/csi/volumeDevices/publish/pvc-1/" + uid:         {uid, "pvc-1"},
		"/var/lib/kubelet/pods/" + uid + "/volumes/kubernetes.io~csi/pvc-1":       {},
		"/var/lib/kubelet/plugins/kubernetes.io/csi/d/0a1b/globalmount":           {},
		"/pods/" + strings.Repeat("a", 65) + "/volumes/kubernetes.io~csi/v/mount": {},
		"": {},
	} {
		if uid, volume := podOf(path); uid != want[0] || volume != want[1] {
			t.Errorf("%s is %q, %q, want %q", path, uid, volume, want)
		}
	}
}

// TestAnnotate: only the values of two keys are decoded.
func TestAnnotate(t *testing.T) {
	entry := func(key, value string) []byte {
		out := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), key)
		return protowire.AppendString(protowire.AppendTag(out, 2, protowire.BytesType), value)
	}
	var r request
	r.annotate(entry(contextPodName, "web-0"))
	r.annotate(entry(contextNamespace, "shop"))
	if want := (pod{namespace: "shop", name: "web-0"}); r.pod != want {
		t.Errorf("the Pod is %v, want %v", r.pod, want)
	}
	tokens := entry("csi.storage.k8s.io/serviceAccount.tokens", strings.Repeat("s", 1024))
	if n := testing.AllocsPerRun(100, func() { r.annotate(tokens) }); n > 0 {
		t.Errorf("a value of another key has %v allocations", n)
	}
}

// FuzzRead reads damaged requests.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x0a\x03vol\x22\x05/path\x42\x06\x0a\x01k\x12\x01v"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for method := range layouts {
			r, _ := read(method, data)
			for _, s := range []string{r.volume, r.name, r.pod.uid, r.pod.name, r.pod.namespace} {
				if len(s) > tracing.MaxText || !utf8.ValidString(s) {
					t.Errorf("%q", s)
				}
			}
		}
	})
}
