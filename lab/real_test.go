// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/lab/testimage"
)

// startReal starts a cluster with a real node, or skips the test.
func startReal(t *testing.T, opts Options) *Cluster {
	t.Helper()
	slow(t)
	opts.Nodes, opts.Progress = NodesReal, t.Output()
	c, err := Start(t.Context(), opts)
	if errors.Is(err, ErrNeedsRoot) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestRealNode(t *testing.T) {
	c := startReal(t, Options{})
	traces := footprint(t, c.dir)

	t.Run("DeploymentBecomesReady", func(t *testing.T) {
		began := time.Now()
		apply(t, c, deployment("web", 2, c.Image("app:v1"), map[string]string{"READY_DELAY": "300ms"}))
		eventually(t, func() error { return deploymentReady(t, c, "web", 2) })
		t.Logf("2 replicas ready after %s", time.Since(began).Round(time.Millisecond))

		// The API server reaches the kubelet, and the kubelet the container.
		logs := kubectl(t, c, "", "logs", "deployment/web")
		if want := "listening on [::]:8080\n"; logs != want {
			t.Errorf("logs of the container: -want +got:\n%s", cmp.Diff(want, logs))
		}
		kubectl(t, c, "", "delete", "deployment/web", "--wait=false")
		eventually(t, func() error { return noPods(t, c, "app=web") })
	})

	t.Run("PullTakesAsLongAsTheBytesNeed", func(t *testing.T) {
		const size, bandwidth = 8 << 20, 4 << 20
		if err := c.SetPullBandwidth(t.Context(), bandwidth); err != nil {
			t.Fatal(err)
		}
		var took time.Duration
		for i := range 3 { // a busy machine may stand still in one pull, not in all
			name := fmt.Sprintf("slow-%d", i)
			image, err := c.PushImage(t.Context(), "app:"+name, testimage.Spec{Padding: size, Seed: uint64(i + 1)})
			if err != nil {
				t.Fatal(err)
			}
			apply(t, c, pod(name, image, nil))
			if took = pulled(t, c, name); took <= 6*time.Second {
				break
			}
		}
		if took < 1900*time.Millisecond || took > 6*time.Second {
			t.Errorf("pulling 8 MiB at 4 MiB/s took %s, want about 2s", took)
		}
	})

	t.Run("CrashLoopShowsTheExitCode", func(t *testing.T) {
		apply(t, c, pod("crash", c.Image("app:v1"), map[string]string{"LIFETIME": "50ms", "EXIT_CODE": "3"}))
		eventually(t, func() error {
			s := containerStatus(t, c, "crash")
			if s.State.Waiting.Reason != "CrashLoopBackOff" {
				return fmt.Errorf("state: %+v", s.State)
			}
			if got := s.LastState.Terminated.ExitCode; got != 3 {
				t.Errorf("exit code: got %d, want 3", got)
			}
			return nil
		})
	})

	t.Run("UnknownTagBacksOff", func(t *testing.T) {
		apply(t, c, pod("unknown", c.Image("app:nowhere"), nil))
		eventually(t, func() error {
			s := containerStatus(t, c, "unknown")
			if s.State.Waiting.Reason != "ImagePullBackOff" {
				return fmt.Errorf("state: %+v", s.State)
			}
			return nil
		})
	})

	t.Run("KubeletRestartKeepsContainers", func(t *testing.T) {
		apply(t, c, pod("stays", c.Image("app:v1"), nil))
		eventually(t, func() error { return podReady(t, c, "stays") })
		before := containerStatus(t, c, "stays").ContainerID
		for _, component := range []Component{Kubelet, Containerd} {
			if err := c.nodes.restart(t.Context(), component); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, func() error {
			// A new kubelet needs some time to learn of the Pod.
			_, err := c.RunKubectl(t.Context(), nil, "exec", "stays", "--", testimage.Binary, "ready")
			return err
		})
		if diff := cmp.Diff(before, containerStatus(t, c, "stays").ContainerID); diff != "" {
			t.Errorf("container: -want +got:\n%s", diff)
		}
	})

	t.Run("StopLeavesNothing", func(t *testing.T) {
		traces.note(t)
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string(nil), traces.left(t)); diff != "" {
			t.Errorf("left on the machine: -want +got:\n%s", diff)
		}
	})
}

// pulled waits for the image of a Pod, and returns the duration of the pull by the kubelet's Event.
func pulled(t *testing.T, c *Cluster, pod string) time.Duration {
	t.Helper()
	var message string
	eventually(t, func() error {
		var events eventList
		get(t, c, "/api/v1/namespaces/default/events?fieldSelector=reason=Pulled,involvedObject.name="+pod, &events)
		if len(events.Items) == 0 {
			return errors.New("not pulled yet")
		}
		message = events.Items[0].Message
		return nil
	})
	_, text, _ := strings.Cut(message, " in ")
	text, _, _ = strings.Cut(text, " ")
	took, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("cannot read the duration in %q: %v", message, err)
	}
	t.Logf("kubelet: %s", message)
	return took
}

func TestRealNodeAfterCrash(t *testing.T) {
	// Deeper than the path of a socket may be.
	dir := filepath.Join(t.TempDir(), strings.Repeat("deep/", 20)+"c")
	c := startReal(t, Options{Dir: dir})
	traces := footprint(t, c.dir)
	apply(t, c, pod("one", c.Image("app:v1"), map[string]string{"TERM_DELAY": "1h"}))
	eventually(t, func() error { return podReady(t, c, "one") })
	traces.note(t)

	for _, component := range []Component{Kubelet, Containerd} {
		if err := syscall.Kill(c.group.Get(string(component)).Pid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-c.group.Get(string(component)).Done()
	}
	if len(traces.left(t)) == 0 {
		t.Fatal("nothing is left after the crash: this test shows nothing")
	}
	if err := End(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string(nil), traces.left(t)); diff != "" {
		t.Errorf("left on the machine: -want +got:\n%s", diff)
	}
}

// TestRealNodeAfterCallersDeath kills a process that runs a cluster.
func TestRealNodeAfterCallersDeath(t *testing.T) {
	const dirVar = "LIFELINE_LAB_TEST_CALLER_DIR"
	if dir := os.Getenv(dirVar); dir != "" { // the process to be killed
		c := startReal(t, Options{Dir: dir})
		apply(t, c, pod("one", c.Image("app:v1"), nil))
		eventually(t, func() error { return podReady(t, c, "one") })
		fmt.Println("\nready to die")
		select {}
	}
	if err := (Options{Nodes: NodesReal}).checkMachine(); err != nil {
		t.Skip(err)
	}
	slow(t)
	dir := filepath.Join(t.TempDir(), "c")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), dirVar+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready to die"; {
		t.Log(lines.Text())
	}
	traces := footprint(t, dir)
	traces.note(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its error is the kill
	eventually(t, func() error {
		if left := traces.left(t); len(left) > 0 {
			return fmt.Errorf("left on the machine:\n%s", strings.Join(left, "\n"))
		}
		return nil
	})
}

// TestRealNodesSideBySide runs two clusters at once, and ends one of them.
func TestRealNodesSideBySide(t *testing.T) {
	first := startReal(t, Options{})
	second := startReal(t, Options{})
	for _, c := range []*Cluster{first, second} {
		apply(t, c, pod("one", c.Image("app:v1"), nil))
	}
	for _, c := range []*Cluster{first, second} {
		eventually(t, func() error { return podReady(t, c, "one") })
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	apply(t, second, pod("two", second.Image("app:v2"), nil))
	eventually(t, func() error { return podReady(t, second, "two") })
	if err := podReady(t, second, "one"); err != nil {
		t.Errorf("the end of one cluster must not touch another: %v", err)
	}
}

// traces are possible remains of a cluster's real node on this machine. They are found by other
// means than the node's own.
type traces struct {
	dir, id string
	ports   []string // of the bridge
}

func footprint(t *testing.T, dir string) *traces {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(realNodeDir(dir), "cni", "*.conflist"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("network configurations: %v, error %v", paths, err)
	}
	var conf struct {
		Plugins []struct {
			Bridge string `json:"bridge"`
		} `json:"plugins"`
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &conf); err != nil {
		t.Fatal(err)
	}
	return &traces{dir: dir, id: strings.TrimPrefix(conf.Plugins[0].Bridge, "ll-")}
}

// note remembers the interfaces of the Pods that run now.
func (f *traces) note(t *testing.T) {
	t.Helper()
	ports, err := os.ReadDir("/sys/class/net/ll-" + f.id + "/brif")
	if err != nil || len(ports) == 0 {
		t.Fatalf("no Pod is attached to the bridge (error %v)", err)
	}
	for _, p := range ports {
		f.ports = append(f.ports, p.Name())
	}
}

func (f *traces) left(t *testing.T) []string {
	t.Helper()
	var left []string
	ours := func(text string) bool { return strings.Contains(text, f.id) || strings.Contains(text, f.dir) }
	pids, _ := filepath.Glob("/proc/[0-9]*")
	for _, pid := range pids {
		for _, file := range []string{"cmdline", "cgroup"} {
			data, err := os.ReadFile(filepath.Join(pid, file))
			if err == nil && ours(string(data)) && pid != fmt.Sprintf("/proc/%d", os.Getpid()) {
				left = append(left, pid+": "+strings.ReplaceAll(string(data), "\x00", " "))
			}
		}
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if ours(line) {
			left = append(left, "mount "+line)
		}
	}
	for _, port := range f.ports {
		if _, err := os.Stat("/sys/class/net/" + port); err == nil {
			left = append(left, "interface "+port)
		}
	}
	for _, pattern := range []string{
		"/sys/class/net/*", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*",
		"/run/lifeline-lab/*", "/run/netns/*", "/var/lib/cni/*/*", "/run/containerd/*",
	} {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if ours(path) {
				left = append(left, path)
			}
		}
	}
	links, _ := filepath.Glob("/var/log/containers/*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && ours(target) {
			left = append(left, link)
		}
	}
	return left
}

// patience bounds every wait for something that must come.
const patience = 4 * time.Minute

// eventually waits until check returns nil. Tests wait like this on what the
// API shows, as they would with kubectl wait.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("waited %s in vain: %v", patience, err)
		case <-tick.C:
		}
	}
}

func kubectl(t *testing.T, c *Cluster, stdin string, args ...string) string {
	t.Helper()
	out, err := c.RunKubectl(t.Context(), strings.NewReader(stdin), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func get(t *testing.T, c *Cluster, path string, into any) {
	t.Helper()
	if err := c.admin.Get(t.Context(), path, into); err != nil {
		t.Fatal(err)
	}
}

func apply(t *testing.T, c *Cluster, object map[string]any) {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, string(data), "apply", "-f", "-")
}

func deployment(name string, replicas int, image string, env map[string]string) map[string]any {
	labels := map[string]any{"app": name}
	template := pod(name, image, env)
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"replicas": replicas,
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": template["spec"]},
		},
	}
}

func pod(name, image string, env map[string]string) map[string]any {
	vars := []any{map[string]any{"name": "PORT", "value": testimage.DefaultPort}}
	for k, v := range env {
		vars = append(vars, map[string]any{"name": k, "value": v})
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"terminationGracePeriodSeconds": 1,
			"containers": []any{map[string]any{
				"name": "app", "image": image, "env": vars,
				"readinessProbe": map[string]any{
					"httpGet":       map[string]any{"path": "/ready", "port": 8080},
					"periodSeconds": 1,
				},
			}},
		},
	}
}

type containerState struct {
	Waiting struct {
		Reason string `json:"reason"`
	} `json:"waiting"`
	Terminated struct {
		ExitCode int `json:"exitCode"`
	} `json:"terminated"`
}

type status struct {
	ContainerID string         `json:"containerID"`
	Ready       bool           `json:"ready"`
	State       containerState `json:"state"`
	LastState   containerState `json:"lastState"`
}

type eventList struct {
	Items []struct {
		Message string `json:"message"`
	} `json:"items"`
}

// containerStatus returns the status of a Pod's only container, empty as long
// as there is none.
func containerStatus(t *testing.T, c *Cluster, name string) status {
	t.Helper()
	var p struct {
		Status struct {
			ContainerStatuses []status `json:"containerStatuses"`
		} `json:"status"`
	}
	get(t, c, "/api/v1/namespaces/default/pods/"+name, &p)
	if len(p.Status.ContainerStatuses) == 0 {
		return status{}
	}
	return p.Status.ContainerStatuses[0]
}

func podReady(t *testing.T, c *Cluster, name string) error {
	t.Helper()
	if s := containerStatus(t, c, name); !s.Ready {
		return fmt.Errorf("Pod %s is not ready: %+v", name, s)
	}
	return nil
}

func deploymentReady(t *testing.T, c *Cluster, name string, replicas int) error {
	t.Helper()
	var d struct {
		Status struct {
			ReadyReplicas int `json:"readyReplicas"`
		} `json:"status"`
	}
	get(t, c, "/apis/apps/v1/namespaces/default/deployments/"+name, &d)
	if d.Status.ReadyReplicas != replicas {
		return fmt.Errorf("%d of %d replicas are ready", d.Status.ReadyReplicas, replicas)
	}
	return nil
}

func noPods(t *testing.T, c *Cluster, selector string) error {
	t.Helper()
	var pods struct {
		Items []any `json:"items"`
	}
	get(t, c, "/api/v1/namespaces/default/pods?labelSelector="+selector, &pods)
	if len(pods.Items) > 0 {
		return fmt.Errorf("%d Pods are left", len(pods.Items))
	}
	return nil
}
