// SPDX-License-Identifier: Apache-2.0

package phase

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/change"
	"github.com/kube-lifeline/lifeline/app/internal/kind"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// app is the container of the tests in the paths of Events.
const app = "containers{app}"

// bound is a Pod created at 10 and bound at 11, with its sandbox at 12.
func bound(w *world, edits ...edit) *story {
	return w.object(&kind.Pod, "web-a").put(10, edits...).put(11, bind).
		put(12, condition("PodReadyToStartContainers", "True", 12))
}

// after leaves out the first two steps, those before the containers.
func after(t *testing.T, w *world, s *story) []string {
	t.Helper()
	steps := text(w.Of(s.begin(10)))
	if len(steps) < 2 {
		t.Fatalf("got %v, want a sandbox", steps)
	}
	if len(steps) == 2 {
		return nil
	}
	return steps[2:]
}

// attempts is one case of the steps of containers.
type attempts struct {
	reason string
	edits  []edit
	set    func(s *story)
	want   []string
}

func testAttempts(t *testing.T, cases map[string]attempts) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			s := bound(w, tc.edits...)
			tc.set(s)
			if diff := cmp.Diff(tc.want, after(t, w, s)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPulls: Events show the pulls of images.
func TestPulls(t *testing.T) {
	const pulled = `Successfully pulled image "app" in 1.5s (2s including waiting). Image size: 1 bytes.`
	testAttempts(t, map[string]attempts{
		"pulling": {"the pull goes on", nil, func(s *story) {
			s.event(13, app, "Pulling", "")
		}, []string{"pull image app #1 13-"}},
		"pulled": {"the pull has ended", nil, func(s *story) {
			s.event(13, app, "Pulling", "").event(16, app, "Pulled", pulled)
		}, []string{"pull image app #1 13-16"}},
		"present": {"the image was there", nil, func(s *story) {
			s.event(13, app, "Pulled", "Container image \"app\" already present on machine")
		}, nil},
		"no begin": {"the Event of the begin is lost", nil, func(s *story) {
			s.event(16, app, "Pulled", pulled)
		}, []string{"pull image app #1 16-16"}},
		"failed": {"the kubelet waits after a failed pull", nil, func(s *story) {
			s.event(13, app, "Pulling", "").event(16, app, "Failed", "Failed to pull image: no")
		}, []string{
			"pull image app #1 13-16 failed: Failed to pull image: no",
			"backoff app/image #1 16- failed: Failed to pull image: no",
		}},
		"other failure": {"the failure is not that of a pull", nil, func(s *story) {
			s.event(13, app, "Pulling", "").event(16, app, "Failed", "Error: ErrImagePull")
		}, []string{"pull image app #1 13-"}},
		"second pull": {"the second pull succeeds", nil, func(s *story) {
			s.event(13, app, "Pulling", "").event(16, app, "Failed", "Failed to pull image: no").
				event(20, app, "Pulling", "").event(22, app, "Pulled", pulled)
		}, []string{
			"pull image app #1 13-16 failed: Failed to pull image: no",
			"backoff app/image #1 16-20 failed: Failed to pull image: no",
			"pull image app #2 20-22",
		}},
		"other container": {"the Event is about another container", nil, func(s *story) {
			s.event(13, "containers{log}", "Pulling", "").event(13, "initContainers{app}", "Pulling", "")
		}, nil},
	})

	w := newWorld()
	s := bound(w).event(13, app, "Pulling", "").event(16, app, "Pulled", pulled)
	p := step(t, w.Of(s.begin(10)), span.NamePull)
	if p.precise != 1500*time.Millisecond || p.attribute(string(span.KeyImage)) != "registry/app:1" {
		t.Errorf("got %s for %s, want 1.5 s for registry/app:1", p.precise, p.attribute(string(span.KeyImage)))
	}
}

// TestPulledIn: only the message of a pull has its length.
func TestPulledIn(t *testing.T) {
	cases := map[string]struct {
		reason, note string
		length       time.Duration
		pulled       bool
	}{
		"pulled": {"the first length is without waiting",
			`Successfully pulled image "x" in 2.9s (3s including waiting). Image size: 7 bytes.`,
			2900 * time.Millisecond, true},
		"no size": {"older kubelets give no size",
			`Successfully pulled image "x" in 1m2s (1m3s including waiting)`, 62 * time.Second, true},
		"image name": {"the name of the image has the word, too",
			`Successfully pulled image "a in b" in 2s (3s including waiting)`, 2 * time.Second, true},
		"present": {"nothing was pulled", `Container image "x" already present on machine`, 0, false},
		"no wait": {"the oldest kubelets give one length", `Successfully pulled image "x" in 2s`, 0, false},
		"no length": {"the length is not readable", `Successfully pulled image "x" in soon (3s including waiting)`,
			0, true},
		"negative": {"a length is not negative", `Successfully pulled image "x" in -2s (3s including waiting)`, 0,
			true},
		"no begin": {"the message is cut", `Successfully pulled image "x" (3s including waiting)`, 0, false},
		"empty":    {"there is no message", "", 0, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if length, pulled := pulledIn(tc.note); length != tc.length || pulled != tc.pulled {
				t.Errorf("%s: got %s, %t; want %s, %t", tc.reason, length, pulled, tc.length, tc.pulled)
			}
		})
	}
}

// FuzzPulledIn: no message leads to a panic or to a negative length.
func FuzzPulledIn(f *testing.F) {
	f.Add(`Successfully pulled image "x" in 2.9s (3s including waiting). Image size: 7 bytes.`)
	f.Add(`Successfully pulled image  in  including waiting)`)
	f.Fuzz(func(t *testing.T, note string) {
		if length, _ := pulledIn(note); length < 0 {
			t.Errorf("got %s", length)
		}
	})
}

// TestStarts: a start begins when the sandbox and the image are there.
func TestStarts(t *testing.T) {
	wait := "readiness 14-: waits for container app to be ready"
	testAttempts(t, map[string]attempts{
		"waiting": {"the container has not started", nil, func(s *story) {
			s.put(14, container(0, waiting("ContainerCreating"), nil))
		}, nil},
		"started": {"the status has the start", nil, func(s *story) {
			s.put(14, container(0, running(13.5), nil))
		}, []string{"start container app #1 12-14", wait}},
		"image present": {"the image was there at 13", nil, func(s *story) {
			s.event(13, app, "Pulled", "present").put(14, container(0, running(14), nil))
		}, []string{"start container app #1 13-14", wait}},
		"Event": {"the Event of the start came before the status", nil, func(s *story) {
			s.event(14, app, "Started", "").put(15, container(0, running(14), nil))
		}, []string{"start container app #1 12-14", wait}},
		"Event only": {"the status is late", nil, func(s *story) {
			s.event(14, app, "Started", "")
		}, []string{"start container app #1 12-14", "readiness 14-: waits for container app to start"}},
		"early Event": {"the Event is older than the second of the start", nil, func(s *story) {
			s.event(13, app, "Started", "").put(15, container(0, running(14), nil))
		}, []string{"start container app #1 12-15", "readiness 15-: waits for container app to be ready"}},
		"late Event": {"the Event came after the second of the start", nil, func(s *story) {
			s.event(17, app, "Started", "").put(18, container(0, running(14), nil))
		}, []string{"start container app #1 12-14", wait}},
	})
}

// TestCrashes: each run of a container has its start, its end and the wait after it.
func TestCrashes(t *testing.T) {
	first := func(s *story) *story { return s.put(13, container(0, running(13), nil)) }
	another := func(s *observation.State) { // it has not started, so the Pod does not wait for Ready
		s.Pod.Containers = append(s.Pod.Containers, observation.Container{Name: "log"})
	}
	failed := "failed: container app exited with code 1"
	testAttempts(t, map[string]attempts{
		"exited": {"the container has ended", nil, func(s *story) {
			first(s).put(14, container(0, ran(13, 14, 1), nil))
		}, []string{
			"start container app #1 12-13", "run container app #1 13-14 " + failed,
			"readiness 13-: has no running container: container app exited with code 1",
		}},
		"back-off": {"the kubelet waits after the second run", nil, func(s *story) {
			first(s).put(14, container(0, ran(13, 14, 1), nil)).put(15, container(1, running(15), ran(13, 14, 1))).
				put(16, container(1, ran(15, 16, 1), ran(13, 14, 1))).
				put(17, container(1, waiting("CrashLoopBackOff"), ran(15, 16, 1)))
		}, []string{
			"start container app #1 12-13", "run container app #1 13-14 " + failed,
			"start container app #2 14-15", "run container app #2 15-16 " + failed, "backoff app #2 16- " + failed,
			"readiness 15-: is in a crash loop: container app exited with code 1, restarted once",
		}},
		"two seconds": {"two seconds are a wait", []edit{another}, func(s *story) {
			first(s).put(14, container(0, ran(13, 14, 1), nil)).put(16, container(1, running(16), ran(13, 14, 1)))
		}, []string{
			"start container app #1 12-13", "run container app #1 13-14 " + failed, "backoff app #1 14-16 " + failed,
			"start container app #2 14-16",
		}},
		"image": {"each start has its own image", []edit{another}, func(s *story) {
			s.event(12.5, app, "Pulled", "present").event(13, app, "Started", "")
			first(s).put(14, container(0, ran(13, 14, 1), nil)).event(15, app, "Started", "").
				put(15, container(1, running(15), ran(13, 14, 1)))
		}, []string{
			"start container app #1 12.5-13", "run container app #1 13-14 " + failed, "start container app #2 14-15",
		}},
		"missed exit": {"the status of the wait shows the run", []edit{another}, func(s *story) {
			first(s).put(15, container(0, waiting("CrashLoopBackOff"), ran(13, 14, 1)))
		}, []string{
			"start container app #1 12-13", "run container app #1 13-15 " + failed, "backoff app #1 15- " + failed,
		}},
		"restarted": {"the second run begins after the wait", nil, func(s *story) {
			first(s).put(14, container(0, ran(13, 14, 1), nil)).put(20, container(1, running(20), ran(13, 14, 1)))
		}, []string{
			"start container app #1 12-13", "run container app #1 13-14 " + failed, "backoff app #1 14-20 " + failed,
			"start container app #2 14-20",
			"readiness 20-: is in a crash loop: container app exited with code 1, restarted once",
		}},
		"at once": {"a restart at once is no wait", nil, func(s *story) {
			first(s).put(14, container(0, ran(13, 14, 1), nil)).put(15, container(1, running(15), ran(13, 14, 1)))
		}, []string{
			"start container app #1 12-13", "run container app #1 13-14 " + failed, "start container app #2 14-15",
			"readiness 15-: is in a crash loop: container app exited with code 1, restarted once",
		}},
		"missed version": {"the status shows the last run, too", nil, func(s *story) {
			s.put(20, container(1, running(20), ran(13, 14, 1)))
		}, []string{
			"start container app #1 12-13", "run container app #1 13-14 " + failed, "backoff app #1 14-20 " + failed,
			"start container app #2 14-20",
			"readiness 20-: is in a crash loop: container app exited with code 1, restarted once",
		}},
		"success": {"a wait after a success is no failure", []edit{another}, func(s *story) {
			first(s).put(14, container(0, ran(13, 14, 0), nil)).
				put(15, container(0, waiting("CrashLoopBackOff"), ran(13, 14, 0)))
		}, []string{"start container app #1 12-13", "run container app #1 13-14", "backoff app #1 14-"}},
		"pull": {"a wait for an image is no back-off of the container", []edit{another}, func(s *story) {
			first(s).put(14, container(0, ran(13, 14, 1), nil)).
				put(15, container(0, waiting("ImagePullBackOff"), ran(13, 14, 1)))
		}, []string{"start container app #1 12-13", "run container app #1 13-14 " + failed}},
		"many": {"a number of restarts that cannot be true adds nothing", nil, func(s *story) {
			s.put(14, container(1<<20, running(14), nil))
		}, nil},
	})

	w := newWorld()
	s := bound(w).put(14, container(0, ran(13, 14, 3), nil))
	p := step(t, w.Of(s.begin(10)), span.NameRunning)
	if len(p.events) != 1 || p.events[0].Name != span.EventExited || !p.events[0].Time.Equal(second(14)) {
		t.Errorf("got %+v, want the exit at 14", p.events)
	}
	if p.service != change.Kubelet {
		t.Errorf("got a step of %s", p.service)
	}
}

// TestInit: init containers run one after another, and sidecars run beside the rest.
func TestInit(t *testing.T) {
	initial := func(c ...observation.Container) edit {
		return func(s *observation.State) { s.Pod.Init = c }
	}
	setup := func(state *observation.ContainerState) observation.Container {
		return observation.Container{Name: "setup", Image: "registry/setup:1", State: state}
	}
	proxy := func(state *observation.ContainerState) observation.Container {
		return observation.Container{Name: "proxy", Image: "registry/proxy:1", Sidecar: true, State: state}
	}
	testAttempts(t, map[string]attempts{
		"running": {"the init container runs", []edit{initial(setup(nil))}, func(s *story) {
			s.put(14, initial(setup(running(13))))
		}, []string{"init container setup #1 12-"}},
		"done": {"the container starts after it", []edit{initial(setup(nil))}, func(s *story) {
			s.put(15, initial(setup(ran(13, 15, 0)))).put(17, container(0, running(17), nil))
		}, []string{
			"init container setup #1 12-15", "start container app #1 15-17",
			"readiness 17-: waits for container app to be ready",
		}},
		"failed": {"the exit ends the step", []edit{initial(setup(nil))}, func(s *story) {
			s.put(15, initial(setup(ran(13, 15, 1))))
		}, []string{"init container setup #1 12-15 failed: container setup exited with code 1"}},
		"again": {"a new run of a completed container is no back-off", []edit{initial(setup(nil))}, func(s *story) {
			again := setup(running(20))
			again.Restarts, again.Last = 1, ran(13, 15, 0)
			s.put(15, initial(setup(ran(13, 15, 0)))).put(20, initial(again))
		}, []string{"init container setup #1 12-15", "init container setup #2 15-"}},
		"two": {"the second waits for the first", []edit{initial(setup(nil), proxy(nil))}, func(s *story) {
			s.put(15, initial(setup(ran(13, 15, 0)), proxy(nil))).put(16,
				initial(setup(ran(13, 15, 0)), proxy(running(16))))
		}, []string{"init container setup #1 12-15", "start container proxy #1 15-16"}},
		"sidecar": {"the next container waits for its start only", []edit{initial(proxy(nil))}, func(s *story) {
			s.put(14, initial(proxy(running(14)))).put(15, container(0, running(15), nil))
		}, []string{
			"start container proxy #1 12-14", "start container app #1 14-15",
			"readiness 15-: waits for container app to be ready",
		}},
		"sidecar again": {"the next container did not wait for the second start", []edit{initial(proxy(nil))},
			func(s *story) {
				again := proxy(running(20))
				again.Restarts, again.Last = 1, ran(14, 18, 1)
				s.put(14, initial(proxy(running(14)))).put(15, container(0, running(15), nil)).
					put(18, initial(proxy(ran(14, 18, 1)))).put(20, initial(again))
			}, []string{
				"start container proxy #1 12-14",
				"run container proxy #1 14-18 failed: container proxy exited with code 1",
				"backoff proxy #1 18-20 failed: container proxy exited with code 1", "start container proxy #2 18-20",
				"start container app #1 14-15",
				"readiness 20-: is in a crash loop: init container proxy exited with code 1, restarted once",
			}},
		"sidecar stopped": {"the kubelet stops it after the main container", []edit{initial(proxy(nil))},
			func(s *story) {
				s.put(14, initial(proxy(running(14)))).put(15, container(0, running(15), nil)).
					put(18, container(0, ran(15, 18, 3), nil)).
					put(19, initial(proxy(ran(14, 19, 143))), func(s *observation.State) { s.Pod.Phase = "Failed" })
			}, []string{
				"start container proxy #1 12-14", "run container proxy #1 14-19",
				"start container app #1 14-15", "run container app #1 15-18 failed: container app exited with code 3",
			}},
	})
}
