// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/lab/audit"
	"github.com/kube-lifeline/lifeline/lab/ports"
)

// callerEnv makes the test binary start a cluster and wait to be killed.
const callerEnv = "LIFELINE_LAB_TEST_CALLER"

func TestMain(m *testing.M) {
	if os.Getenv(callerEnv) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	c, err := Start(context.Background(), Options{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(c.Dir())
	select {}
}

// slow skips a test under -short: make test runs with -short, make test-all
// without.
func slow(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("slow: make test-all runs it")
	}
}

func TestCluster(t *testing.T) {
	var hooked bool
	c := start(t, Options{
		Users: []User{{Name: "ann", Groups: []string{"dev"}}},
		BeforeControllers: func(ctx context.Context, c *Cluster) error {
			hooked = true
			if err := c.serviceAccountReady(ctx); err == nil {
				return errors.New("the controllers run already")
			}
			_, err := c.RunKubectl(ctx, nil, "create", "namespace", "early")
			return err
		},
	})

	t.Run("HookRanFirst", func(t *testing.T) {
		if !hooked {
			t.Error("BeforeControllers was not called")
		}
		kubectl(t, c, "", "get", "namespace", "early")
	})
	t.Run("VersionIsSet", func(t *testing.T) {
		if out := kubectl(t, c, "", "version"); strings.Count(out, c.Release()) != 2 {
			t.Errorf("kubectl version: got\n%s\nwant %s for client and server", out, c.Release())
		}
	})
	t.Run("UsersHaveNoPermission", func(t *testing.T) {
		out, err := c.RunKubectlAs(
			t.Context(),
			"ann",
			nil,
			"auth",
			"whoami",
			"-o=jsonpath={.status.userInfo.username} {.status.userInfo.groups}",
		)
		if want := `ann ["dev","system:authenticated"]`; err != nil || out != want {
			t.Errorf("whoami: %q, %v; want %q", out, err, want)
		}
		_, err = c.RunKubectlAs(t.Context(), "ann", nil, "get", "pods")
		if err == nil || !strings.Contains(err.Error(), "forbidden") {
			t.Errorf("get pods: %v, want forbidden", err)
		}
	})
	t.Run("AuditIsAnOracle", func(t *testing.T) { testOracle(t, c) })
	t.Run("APIServerRestarts", func(t *testing.T) {
		kubectl(t, c, "", "create", "configmap", "kept")
		if err := c.Restart(t.Context(), APIServer); err != nil {
			t.Fatal(err)
		}
		kubectl(t, c, "", "get", "configmap", "kept")
		kubectl(t, c, podManifest("after-restart", "", `{containers: [{name: a, image: nginx:1}]}`), "apply", "-f", "-")
		kubectl(t, c, "", "wait", "pod/after-restart", "--for=condition=Ready", "--timeout=4m")
	})
	t.Run("CrashIsNoticed", func(t *testing.T) { testCrash(t, c) })
	t.Run("ReconfigureRestartsWhatChanged", func(t *testing.T) { testReconfigure(t, c) })
}

// testOracle compares kubectl's writes with the audit log.
func testOracle(t *testing.T, c *Cluster) {
	const cm = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata: {k: %s}\n"
	serverSide := []string{"apply", "--server-side", "-f", "-"}
	steps := []struct {
		what  string
		stdin string
		args  []string
	}{
		{"creates", fmt.Sprintf(cm, "oracle-a", "one"), []string{"apply", "-f", "-"}},
		{"changes nothing", fmt.Sprintf(cm, "oracle-a", "one"), []string{"apply", "-f", "-"}},
		{"is a dry run", fmt.Sprintf(cm, "oracle-a", "two"), []string{"apply", "--dry-run=server", "-f", "-"}},
		{"changes", "", []string{"patch", "configmap", "oracle-a", "--type=merge", `-p={"data":{"k":"three"}}`}},
		{"creates", fmt.Sprintf(cm, "oracle-b", "one"), serverSide},
		{"changes nothing, though it is sent", fmt.Sprintf(cm, "oracle-b", "one"), serverSide},
		{"changes", fmt.Sprintf(cm, "oracle-b", "two"), serverSide},
		{"asks", "", []string{"auth", "can-i", "create", "pods"}},
		{"is a dry run of a delete", "", []string{"delete", "configmap", "oracle-a", "--dry-run=server"}},
		{"deletes", "", []string{"delete", "configmap", "oracle-a"}},
		{"marks the end", "", []string{"create", "configmap", "end-of-oracle"}},
	}
	for _, s := range steps {
		t.Logf("kubectl %s: it %s", strings.Join(s.args, " "), s.what)
		kubectl(t, c, s.stdin, s.args...)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	var got []string
	uids := map[string]bool{}
	for w, err := range audit.Follow(ctx, c.AuditLog()) {
		if err != nil {
			t.Fatal(err)
		}
		if w.Name == "end-of-oracle" {
			break
		}
		if strings.HasPrefix(w.Name, "oracle-") {
			got = append(got, fmt.Sprintf("%s %s by %s, removed: %t", w.Verb, w.Name, w.User, w.Removed))
			uids[w.UID] = true
		}
	}
	want := []string{
		"create oracle-a by admin, removed: false",
		"patch oracle-a by admin, removed: false",
		"patch oracle-b by admin, removed: false", // it creates too
		"patch oracle-b by admin, removed: false",
		"delete oracle-a by admin, removed: true",
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("stored writes: -want +got:\n%s", diff)
	}
	if len(uids) != 2 {
		t.Errorf("UIDs of the writes: %v, want one for each object", uids)
	}
}

func testCrash(t *testing.T, c *Cluster) {
	if err := c.Err(); err != nil {
		t.Fatalf("Err() of a sound cluster: %v", err)
	}
	p := c.group.Get(string(Scheduler))
	process, err := os.FindProcess(p.Pid())
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	err = c.Err()
	for _, want := range []string{"kube-scheduler: it ended: signal: killed", c.Logs(Scheduler)} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Err() after a crash: %v, want %q", err, want)
		}
	}
	if err := c.Restart(t.Context(), Scheduler); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(Scheduler); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), Scheduler); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); err != nil {
		t.Errorf("Err() after Restart: %v", err)
	}
}

func testReconfigure(t *testing.T, c *Cluster) {
	before := map[Component]int{}
	for _, component := range []Component{APIServer, ControllerManager, Scheduler, KWOK} {
		before[component] = c.group.Get(string(component)).Pid()
	}
	err := c.Reconfigure(t.Context(), func(o *Options) {
		o.ExtraArgs[ControllerManager] = []string{"--kube-api-qps=100"}
		o.KWOK.Pull = 1e6
		o.Users = append(o.Users, User{Name: "bob"})
	})
	if err != nil {
		t.Fatal(err)
	}
	for component, pid := range before {
		want := component == ControllerManager || component == KWOK
		if got := c.group.Get(string(component)).Pid() != pid; got != want {
			t.Errorf("%s restarted: %t, want %t", component, got, want)
		}
	}
	if _, err := c.RunKubectlAs(t.Context(), "bob", nil, "auth", "whoami"); err != nil {
		t.Error(err)
	}
	if err := c.Reconfigure(t.Context(), func(o *Options) { o.Nodes = NodesNone }); err == nil {
		t.Error("Reconfigure() of the node mode: no error")
	}
}

func TestSideBySide(t *testing.T) {
	slow(t)
	clusters := make([]*Cluster, 2)
	errs := make([]error, 2)
	var starts sync.WaitGroup
	for i := range clusters {
		starts.Go(func() { clusters[i], errs[i] = Start(t.Context(), Options{Nodes: NodesNone, Progress: t.Output()}) })
	}
	starts.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	kubectl(t, clusters[0], "", "create", "namespace", "only-here")
	if out := kubectl(t, clusters[1], "", "get", "namespaces", "-o=name"); strings.Contains(out, "only-here") {
		t.Errorf("a namespace of one cluster is in another:\n%s", out)
	}
	if err := clusters[0].Stop(); err != nil {
		t.Error(err)
	}
	kubectl(t, clusters[1], "", "get", "namespaces")
	if err := clusters[1].Stop(); err != nil {
		t.Error(err)
	}
	for _, c := range clusters {
		if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("directory %s after Stop: %v, want it gone", c.Dir(), err)
		}
	}
}

// TestCallerCrash kills a process that runs a cluster. The cluster's processes must end at once,
// and its directory must disappear with the next start.
func TestCallerCrash(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), callerEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(line)
	info, err := Inspect(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Processes) != 5 || !info.Running() {
		t.Errorf("Inspect(): %+v, want five processes that run", info)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its error is the kill
	eventually(t, func() error {
		info, err := Inspect(dir)
		if err == nil && info.Running() {
			return fmt.Errorf("still there: %+v", info.Processes)
		}
		return err
	})
	sweep(t.Context())
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory of the crashed cluster: %v, want it gone", err)
	}
}

func TestFailedStart(t *testing.T) {
	_, err := Start(t.Context(), Options{ExtraArgs: map[Component][]string{Scheduler: {"--no-such-flag"}}})
	for _, want := range []string{
		"kube-scheduler: it ended before it was ready",
		"unknown flag: --no-such-flag",
		"kube-scheduler.log",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Start() with a wrong flag: %v\nwant %q", err, want)
		}
	}
	infos, err := List()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		if info.Owner.Pid != os.Getpid() {
			continue
		}
		if info.Running() {
			t.Errorf("a start that failed left %s running", info.Dir)
		}
		if err := os.RemoveAll(info.Dir); err != nil {
			t.Error(err)
		}
	}
}

func TestPortTaken(t *testing.T) {
	slow(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	// The first choice fails in etcd, the second succeeds.
	choices := [][]int{{port, 0}}
	choose := func(n int) ([]int, error) {
		if len(choices) > 0 {
			first := choices[0]
			choices = choices[1:]
			return first, nil
		}
		return ports.Free(n)
	}
	var said strings.Builder
	c, err := startWith(t.Context(), Options{Nodes: NodesNone, Progress: &said}, choose)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if !strings.Contains(said.String(), "a port was taken") {
		t.Errorf("progress: %q, want a line about the port", said.String())
	}
}
