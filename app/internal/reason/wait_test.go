// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// TestWaitsOfRetries: an attempt between two failures of a pull does not begin the reason again. A longer one does, and
// so does another reason.
func TestWaitsOfRetries(t *testing.T) {
	pulls, starts := waitingFor("ErrImagePull", "not found"), waitingFor("ContainerCreating", "")
	unset := waitingFor("CreateContainerConfigError", `secret "key" not found`)
	type step struct {
		at time.Duration
		c  observation.Container
	}
	for name, tc := range map[string]struct {
		steps []step
		want  string
	}{
		"retries": {
			[]step{{0, starts}, {time.Second, pulls}, {time.Hour, starts}, {time.Hour + time.Second, pulls}},
			"0s ordinary, 1s image_not_found",
		},
		"a long wait": {
			[]step{{0, pulls}, {time.Minute, starts}, {3 * time.Minute, pulls}},
			"0s image_not_found, 1m0s ordinary, 3m0s image_not_found",
		},
		"another reason": {
			[]step{{0, pulls}, {time.Second, starts}, {2 * time.Second, unset}, {3 * time.Second, pulls}},
			"0s image_not_found, 1s ordinary, 2s secret_missing, 3s image_not_found",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var versions []*history.Version
			for i, s := range tc.steps {
				v := version(kind.Pod.Kind, pod(s.c))
				v.ResourceVersion, v.Seen = uint64(i+1), epoch.Add(s.at)
				versions = append(versions, v)
			}
			var got []string
			for _, w := range Waits(versions, nil) {
				category := w.Category
				if category == "" {
					category = "ordinary"
				}
				got = append(got, fmt.Sprint(w.Since.Sub(epoch), " ", category))
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("got %s, want %s", text, tc.want)
			}
		})
	}
}
