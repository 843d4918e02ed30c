// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-lifeline/lifeline/app/internal/normalize"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// observations returns the recorded observations, in order.
func observations(t *testing.T, r *recorded) (all []*observation.Observation) {
	t.Helper()
	cfg := Config{
		Key: [normalize.KeySize]byte{1}, Now: func() time.Time { return time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC) },
		Batches: r.batches,
	}
	r.replay(t, cfg, func(o *observation.Observation) {
		o.Late, o.Listed = false, false // depend on the order of the streams
		all = append(all, o)
	})
	close(r.watched)
	slices.SortFunc(all, func(a, b *observation.Observation) int { return cmp.Compare(versionOf(a), versionOf(b)) })
	return all
}

func versionOf(o *observation.Observation) uint64 {
	if o.Event != nil {
		return o.Event.ResourceVersion
	}
	return o.State.ResourceVersion
}

// TestProtobuf: the observations are those from JSON, if the API server has protobuf for some kinds,
// for all, or for none.
func TestProtobuf(t *testing.T) {
	none := record(t, 4)
	none.onlyJSON = []string{"deployments", "replicasets", "pods", "events"}
	want := observations(t, none)
	for watched := range none.watched {
		if !strings.HasSuffix(watched, apiruntime.ContentTypeJSON) {
			t.Errorf("watched %s", watched)
		}
	}
	some, batches := record(t, 4), record(t, 4)
	some.onlyJSON = none.onlyJSON[:2]
	batches.batches = true
	for name, r := range map[string]*recorded{"all": record(t, 4), "some": some, "batches": batches} {
		if diff := gocmp.Diff(want, observations(t, r)); diff != "" {
			t.Errorf("%s: -JSON +protobuf:\n%s", name, diff)
		}
		for watched := range r.watched {
			resource, mediaType, _ := strings.Cut(watched, " ")
			if protobuf := mediaType == apiruntime.ContentTypeProtobuf; protobuf == slices.Contains(
				r.onlyJSON,
				resource,
			) {
				t.Errorf("%s: watched %s", name, watched)
			}
		}
	}
}

// TestNewerField: a field that this release does not have makes the stream request JSON. Nothing is
// lost or repeated.
func TestNewerField(t *testing.T) {
	want := observations(t, record(t, 2))
	for _, batches := range []bool{false, true} {
		t.Run(fmt.Sprintf("batches %t", batches), func(t *testing.T) {
			r := record(t, 2)
			r.batches = batches
			newer := &apiruntime.Unknown{
				TypeMeta: apiruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				Raw:      []byte{0x20, 1},
			}
			r.proto["pods"].Reset()
			r.frame(t, "pods", "ADDED", protoOf(t, newer))
			if diff := gocmp.Diff(want, observations(t, r)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			var watched []string
			for w := range r.watched {
				if resource, mediaType, _ := strings.Cut(w, " "); resource == "pods" {
					watched = append(watched, mediaType)
				}
			}
			if diff := gocmp.Diff(
				[]string{apiruntime.ContentTypeProtobuf, apiruntime.ContentTypeJSON},
				watched,
			); diff != "" {
				t.Errorf("watches of Pods, -want +got:\n%s", diff)
			}
		})
	}
}

// TestRefusal: a refusal in protobuf has its reason, in the response to a list and to a watch.
func TestRefusal(t *testing.T) {
	r := &recorded{tb: t, refusal: &metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "too old",
	}}
	l, err := dial(r.config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.hangUp()
	_, listed := l.binary.Resource(deployments).List(t.Context(), metav1.ListOptions{})
	_, watched := l.binary.Resource(deployments).Watch(t.Context(), metav1.ListOptions{})
	for name, err := range map[string]error{"list": listed, "watch": watched} {
		if !apierrors.IsResourceExpired(err) || !strings.Contains(err.Error(), "too old") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
