// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// jane may view namespace shop, and nothing else.
const jane = "jane"

// manifests are those of lifeline install and of deploy/base.
const manifests = "../../deploy/base/lifeline.yaml"

// installed is a server, and a lifeline discovery in front of it.
type installed struct {
	server    *harness.Server
	discovery *harness.Process
	// begin starts lifeline discovery again.
	begin func() *harness.Process
}

// install registers the API. It starts the server and lifeline discovery, which has the rights of its ServiceAccount
// alone.
func install(t *testing.T) *installed {
	t.Helper()
	bench.MustKubectl(t, "", "create", "namespace", "lifeline")
	bench.MustKubectl(t, rights(t), "apply", "-f", "-")
	behind, front := harness.Free(t), harness.Free(t)
	_, port, err := net.SplitHostPort(front)
	if err != nil {
		t.Fatal(err)
	}
	i := &installed{
		server: bench.Server(t, harness.ServerOptions{
			Config: "api:\n  authorization: kubernetes\n" +
				fmt.Sprintf("  aggregation: {address: %q, secret: lifeline-api}\n", behind),
			Args: []string{"--namespace", "lifeline"},
		}),
		begin: func() *harness.Process {
			return bench.Begin(t, harness.Call{Args: []string{
				"discovery", "--namespace", "lifeline", "--address", front, "--telemetry-address", harness.Free(t),
				"--aggregation-server", "https://" + behind,
				"--as", "system:serviceaccount:lifeline:lifeline-discovery",
				"--as-group", "system:serviceaccounts", "--as-group", "system:authenticated",
			}})
		},
	}
	bench.MustKubectl(t, fmt.Sprintf(registration, port), "apply", "-f", "-")
	i.discovery = i.begin()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s:\n%s\nthe APIService:\n%s", i.discovery, i.discovery.Stderr(),
				kubectl(t, "get", "apiservice/v1alpha1.lifeline.dev", "-o", "yaml"))
		}
	})
	i.server.Start(t)
	available(t, "True")
	return i
}

// available waits until the API server has another opinion of the API. It checks each half minute, and after a change
// of the APIService.
func available(t *testing.T, want string) {
	t.Helper()
	harness.Eventually(t, "the APIService being available: "+want, func() bool {
		bench.MustKubectl(t, "", "annotate", "--overwrite", "apiservice/v1alpha1.lifeline.dev",
			"checked="+strconv.FormatInt(time.Now().UnixNano(), 10))
		return want == bench.MustKubectl(t, "", "get", "apiservice/v1alpha1.lifeline.dev", "-o",
			`jsonpath={.status.conditions[?(@.type=="Available")].status}`)
	})
}

// registration is the APIService of the chart. Endpoints cannot name loopback, but the name of an ExternalName Service
// can.
const registration = `apiVersion: v1
kind: Service
metadata: {name: lifeline-discovery, namespace: lifeline}
spec: {type: ExternalName, externalName: localhost}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1alpha1.lifeline.dev, annotations: {webhook.lifeline.dev/ca: managed}}
spec:
  group: lifeline.dev
  version: v1alpha1
  service: {name: lifeline-discovery, namespace: lifeline, port: %s}
  groupPriorityMinimum: 100
  versionPriority: 100
`

// rights are the objects of the manifests for the rights of users and of lifeline discovery.
func rights(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(manifests)
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`app.kubernetes.io/component: (changes|discovery)`)
	kinds := regexp.MustCompile(`(?m)^kind: (ServiceAccount|(Cluster)?Role(Binding)?)$`)
	var out []string
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		if ours.MatchString(doc) && kinds.MatchString(doc) {
			out = append(out, doc)
		}
	}
	if len(out) != 9 {
		t.Fatalf("%s has %d objects for rights, want 9", manifests, len(out))
	}
	return strings.Join(out, "\n---\n")
}

// command is kubectl on the bench.
func command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, bench.Kubectl(), args...)
	cmd.Env = bench.Env(bench.Kubeconfig())
	return cmd
}

// kubectl runs kubectl, and returns what it prints on both streams.
func kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(context.WithoutCancel(t.Context()), args...).CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		t.Fatal(err)
	}
	return string(out)
}

// eventually waits until kubectl prints texts.
func eventually(t *testing.T, texts []string, args ...string) string {
	t.Helper()
	var out string
	harness.Eventually(t, strings.Join(args, " ")+" printing "+strings.Join(texts, ", "), func() bool {
		out = kubectl(t, args...)
		return !slices.ContainsFunc(texts, func(s string) bool { return !strings.Contains(out, s) })
	})
	return out
}

// TestKubectl: a user who may view one namespace sees its changes by kubectl, and no other ones; without the server,
// the cluster stays as fast as with it; without any answer, lifeline why says so.
func TestKubectl(t *testing.T) {
	i := install(t)
	for _, ns := range []string{"shop", "bank"} {
		bench.MustKubectl(t, "", "create", "namespace", ns)
		bench.MustKubectl(t, "", "-n", ns, "create", "deployment", "web", "--image=web:1")
	}
	bench.MustKubectl(t, "", "-n", "shop", "create", "rolebinding", jane, "--clusterrole=view", "--user="+jane)
	asJane := func(args ...string) []string { return append(slices.Clone(args), "--as="+jane) }
	eventually(t, []string{"create Deployment web"}, asJane("get", "changes", "-n", "shop",
		"--field-selector=involvedObject.kind=Deployment,status.state=converged")...)

	t.Run("watch", func(t *testing.T) { follow(t, asJane("get", "changes", "-n", "shop", "-w")) })
	bench.MustKubectl(t, "", "-n", "shop", "set", "image", "deployment/web", "web=web:2")
	bench.MustKubectl(t, "", "-n", "shop", "set", "resources", "deployment/web", "--requests=memory=1Ti")
	eventually(t, []string{"stuck"}, asJane("get", "changes", "-n", "shop")...)

	name := func(selector string) string {
		return strings.TrimSpace(kubectl(t, "get", "changes", "-n", "shop", "-o", "name", "--field-selector="+selector))
	}
	stuck := name("status.state=stuck")
	var transcript script
	for _, c := range []struct {
		args []string
		want []string
		not  []string
	}{
		{[]string{"get", "changes", "-n", "shop"}, []string{"create Deployment web", "stuck"}, nil},
		{[]string{"get", "changes", "-n", "shop", "-o", "wide"}, []string{"SLOWEST", "image web:1 → web:2"}, nil},
		{
			[]string{"get", "changes", "-n", "shop", "-l", "lifeline.dev/state=stuck"},
			[]string{"stuck"}, []string{"converged"},
		},
		{
			[]string{
				"get", "changes", "-n", "shop",
				"--field-selector=involvedObject.kind=Deployment,status.state=converged",
			},
			[]string{"converged"}, []string{"stuck"},
		},
		{
			[]string{"describe", "-n", "shop", stuck},
			[]string{"has been stuck for", "reconcile Deployment web", "Insufficient memory"}, nil,
		},
		{[]string{"get", "visiblechanges"}, []string{"NAMESPACE", "shop"}, []string{"bank"}},
		{[]string{"get", "changes", "-n", "bank"}, []string{`"jane" cannot list resource "changes"`}, nil},
		{[]string{"get", "changes", "-A"}, []string{`"jane" cannot list resource "changes"`}, nil},
		{
			[]string{"get", "changes", "-n", "shop", "--field-selector=spec.user=jane"},
			[]string{"the fields are metadata.name"}, nil,
		},
		{[]string{"explain", "changes.status.state"}, []string{"running, held or stuck for an open change"}, nil},
	} {
		out := kubectl(t, asJane(c.args...)...)
		transcript.add(c.args, out)
		for _, text := range c.want {
			if !strings.Contains(out, text) {
				t.Errorf("kubectl %s: no %q in\n%s", strings.Join(c.args, " "), text, out)
			}
		}
		for _, text := range c.not {
			if strings.Contains(out, text) {
				t.Errorf("kubectl %s: %q in\n%s", strings.Join(c.args, " "), text, out)
			}
		}
	}
	objects(t, asJane, stuck)
	if out := kubectl(t, "get", "changes", "-A"); !strings.Contains(out, "bank") || !strings.Contains(out, "shop") {
		t.Errorf("the administrator sees\n%s", out)
	}
	t.Run("server killed", func(t *testing.T) { killed(t, i, asJane, &transcript) })
	t.Run("no answer", func(t *testing.T) { silent(t, i, &transcript) })
	transcript.compare(t)
}

// objects checks the forms for programs.
func objects(t *testing.T, asJane func(...string) []string, name string) {
	t.Helper()
	for format, want := range map[string]string{
		"yaml": "kind: Change", "json": `"kind": "Change"`, "jsonpath={.status.state}": "stuck",
		"jsonpath={.involvedObject.name}": "web",
	} {
		if out := kubectl(t, asJane("get", "-n", "shop", name, "-o", format)...); !strings.Contains(out, want) {
			t.Errorf("-o %s: no %q in\n%s", format, want, out)
		}
	}
	id := strings.TrimPrefix(name, "change.lifeline.dev/")
	for _, bad := range []string{"ffffffffffffffffffffffffffffffff", "web"} {
		want := `changes.lifeline.dev "` + bad + `" not found`
		if out := kubectl(t, asJane("get", "changes", "-n", "shop", bad)...); !strings.Contains(out, want) {
			t.Errorf("an absent change: %s", out)
		}
	}
	path := "/apis/lifeline.dev/v1alpha1/namespaces/shop/changes/" + id + "/why"
	if out := kubectl(t, asJane("get", "--raw", path)...); !strings.Contains(out, `"state":"stuck"`) {
		t.Errorf("%s: %s", path, out)
	}
}

// follow reads kubectl get -w while a Deployment is scaled.
func follow(t *testing.T, args []string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := command(ctx, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	lines := bufio.NewScanner(out)
	await := func(words ...string) {
		t.Helper()
		for lines.Scan() {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(lines.Text(), w) }) {
				return
			}
		}
		t.Fatalf("kubectl get -w ended without %q: %v", words, lines.Err())
	}
	await("create Deployment web")
	bench.MustKubectl(t, "", "-n", "shop", "scale", "deployment/web", "--replicas=2")
	await("update Deployment web", "running")
}

// killed checks the cluster without the server: lifeline discovery answers.
func killed(t *testing.T, i *installed, asJane func(...string) []string, transcript *script) {
	i.server.Kill(t)
	get := []string{"get", "changes", "-n", "shop"}
	out := eventually(t, []string{"the server of Lifeline has not answered since"}, asJane(get...)...)
	transcript.note("The server is away:")
	transcript.add(get, out)
	begun := time.Now()
	resources := kubectl(t, "api-resources", "--cached=false")
	took := time.Since(begun)
	if !strings.Contains(resources, "visiblechanges") || strings.Contains(resources, "error") {
		t.Errorf("kubectl api-resources prints\n%s", resources)
	}
	bench.MustKubectl(t, "", "create", "namespace", "old")
	bench.AwaitDefaults(t, "old")
	begun = time.Now()
	bench.MustKubectl(t, "", "delete", "namespace", "old", "--timeout=20s")
	t.Logf("without the server: kubectl api-resources in %v, a namespace deleted in %v", took, time.Since(begun))
	if took > 5*time.Second {
		t.Errorf("kubectl api-resources took %v", took)
	}
	i.server.Start(t)
	eventually(t, []string{"create Deployment web"}, asJane(get...)...)
}

// silent checks the cluster without any answer of the API.
func silent(t *testing.T, i *installed, transcript *script) {
	i.discovery.Signal(t, syscall.SIGKILL)
	i.discovery.Wait(t)
	available(t, "False")
	bench.MustKubectl(t, "", "create", "namespace", "held")
	bench.AwaitDefaults(t, "held")
	bench.MustKubectl(t, "", "delete", "namespace", "held", "--wait=false")
	why := harness.Call{Args: []string{"why", "namespace/held"}} // from the cluster itself
	const want = "it waits for API lifeline.dev/v1alpha1 of Lifeline, which no Pod of lifeline discovery answers"
	var out string
	harness.Eventually(t, "lifeline why naming the API of Lifeline", func() bool {
		out = bench.Do(t, why).Stdout
		return strings.Contains(out, want)
	})
	if next := "Next: kubectl get pod -A -l app.kubernetes.io/name=lifeline-discovery"; !strings.Contains(out, next) {
		t.Errorf("lifeline why says no next step:\n%s", out)
	}
	transcript.note("Neither the server nor lifeline discovery answers, and a namespace is to be deleted:")
	transcript.command("lifeline why namespace/held", out)
	i.discovery = i.begin()
	available(t, "True")
	bench.MustKubectl(t, "", "wait", "namespace/held", "--for=delete", "--timeout=2m")
}
