// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// TestTracedScheduler compares the version with that of the module scheduler.
func TestTracedScheduler(t *testing.T) {
	const root = "../../../"
	module, err := os.ReadFile(root + "scheduler/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(module), "\tk8s.io/kubernetes "+tracedScheduler+"\n") {
		t.Errorf("scheduler/go.mod has another Kubernetes than %s", tracedScheduler)
	}
}

func TestDriversOf(t *testing.T) {
	for annotation, want := range map[string]string{
		`{"b.example.com":"1","a.example.com":"2"}`: "a.example.com b.example.com",
		`{`: "", ``: "", `{"a":{}}`: "",
	} {
		if got := strings.Join(driversOf(annotation), " "); got != want {
			t.Errorf("%s has %q, want %q", annotation, got, want)
		}
	}
}

func TestDevicesOf(t *testing.T) {
	capacity := corev1.ResourceList{"absent.example.com/gpu": resource.MustParse("0")}
	for _, name := range []string{
		"cpu", "memory", "hugepages-2Mi", "attachable-volumes-csi-disk", "kubernetes.io/batch-cpu",
		"node.kubernetes.io/x", "example.com/gpu", "a.example.com/nic",
	} {
		capacity[corev1.ResourceName(name)] = resource.MustParse("1")
	}
	if got, want := strings.Join(devicesOf(capacity), " "), "a.example.com/nic example.com/gpu"; got != want {
		t.Errorf("the devices are %q, want %q", got, want)
	}
}
