// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// progress is a line about a running command; there may be any number of them.
var progress = regexp.MustCompile(`^(\+[0-9.]+m?s +|(?:running|held|stuck): )`)

// says checks that stderr consists of exactly these lines, given as patterns,
// and of progress.
func says(t *testing.T, r harness.Result, want ...string) {
	t.Helper()
	var got []string
	for line := range strings.Lines(r.Stderr) {
		if !progress.MatchString(line) {
			got = append(got, strings.TrimSuffix(line, "\n"))
		}
	}
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		ok = ok && regexp.MustCompile("^(?:"+want[i]+")$").MatchString(got[i])
	}
	if !ok {
		t.Errorf("stderr:\n\t%s\nwant lines like:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// ends checks the code and that nothing is on stdout.
func ends(t *testing.T, r harness.Result, code int) {
	t.Helper()
	if r.Code != code {
		t.Errorf("exit code %d, want %d\n%s", r.Code, code, r.Stderr)
	}
	if r.Stdout != "" {
		t.Errorf("stdout, want nothing:\n%s", r.Stdout)
	}
}

// write makes a file of the test's own.
func write(t *testing.T, name, text string, mode os.FileMode) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestRefusesToStart(t *testing.T) {
	notExecutable := write(t, "plain", "#!/bin/sh\n", 0o600)
	noInterpreter := write(t, "script", "#!/does/not/exist\n", 0o700)
	broken := write(t, "broken.yaml", "clusters: [\n", 0o600)
	dir := t.TempDir()
	tests := map[string]struct {
		reason     string
		args       []string
		kubeconfig string
		code       int
		want       string
	}{
		"no kubeconfig": {
			"the three ways to give one are named",
			[]string{"run", "--", "kubectl", "get", "pods"},
			dir + "/none",
			1,
			`lifeline: there is no kubeconfig: set KUBECONFIG or --kubeconfig to an existing file, or have one at ` +
				`~/\.kube/config`,
		},
		"no kubeconfig to watch with": {
			"as for run",
			[]string{"watch"},
			dir + "/none",
			1,
			`lifeline: there is no kubeconfig: .*`,
		},
		"no kubeconfig to record with": {
			"as for run",
			[]string{"record", dir + "/r"},
			dir + "/none",
			1,
			`lifeline: there is no kubeconfig: .*`,
		},
		"--kubeconfig names no file": {
			"the file is named", []string{"run", "--kubeconfig", dir + "/none", "--", "true"}, "", 1,
			`lifeline: .*` + regexp.QuoteMeta(dir) + `/none.*`,
		},
		"kubeconfig is no YAML": {
			"the file is named", []string{"run", "--", "true"}, broken, 1,
			`lifeline: cannot read the kubeconfig: .*` + regexp.QuoteMeta(broken) + `.*`,
		},
		"no such context": {
			"the context is named", []string{"run", "--context", "nowhere", "--", "true"}, "", 1,
			`lifeline: context "nowhere" does not exist`,
		},
		"no command": {
			"the usage is shown",
			[]string{"run"},
			"",
			1,
			`lifeline: there is no command to run: lifeline run \[flags\] -- COMMAND`,
		},
		"nothing after --": {
			"the usage is shown",
			[]string{"run", "--"},
			"",
			1,
			`lifeline: there is no command to run: .*`,
		},
		"no such command": {
			"a shell's code",
			[]string{"run", "--", "no-such-command"},
			"",
			127,
			`lifeline: cannot run "no-such-command": there is no such command`,
		},
		"no such file": {
			"a shell's code",
			[]string{"run", "--", dir + "/none"},
			"",
			127,
			`lifeline: cannot run ".*/none": there is no such command`,
		},
		"not executable": {
			"a shell's code",
			[]string{"run", "--", notExecutable},
			"",
			126,
			`lifeline: cannot run ".*/plain": it is not executable`,
		},
		"a directory": {
			"a shell's code",
			[]string{"run", "--", dir},
			"",
			126,
			`lifeline: cannot run ".*": it is a directory`,
		},
		"no interpreter": {
			"a shell's code",
			[]string{"run", "--", noInterpreter},
			"",
			126,
			`lifeline: cannot run ".*/script": .*`,
		},
		"unknown command": {
			"it is named",
			[]string{"frobnicate"},
			"",
			1,
			`lifeline: unknown command "frobnicate" for "lifeline"`,
		},
		"unknown flag": {
			"it is named",
			[]string{"run", "--frobnicate", "--", "true"},
			"",
			1,
			`lifeline: unknown flag: --frobnicate`,
		},
		"unknown output": {
			"the known ones are named",
			[]string{"run", "-o", "xml", "--", "true"},
			"",
			1,
			`lifeline: unknown output "xml": known are tree, table, mermaid, dot, perfetto, json, yaml, name`,
		},
		"no duration": {
			"flag and value are named",
			[]string{"run", "--timeout", "soon", "--", "true"},
			"",
			1,
			`lifeline: --timeout "soon": it must be a duration with its unit, such as 90s or 5m`,
		},
		"no patience": {
			"the flag is named",
			[]string{"run", "--timeout", "0s", "--", "true"},
			"",
			1,
			`lifeline: --timeout 0s: it must be more than 0`,
		},
		"unknown OTLP scheme": {
			"the known ones are named",
			[]string{"run", "--otlp", "ftp://x:1", "--", "true"},
			"",
			1,
			`lifeline: --otlp=ftp://x:1: the scheme must be http, https, grpc or grpcs`,
		},
		"cannot record": {
			"the file is named",
			[]string{"run", "--record", dir + "/no/r", "--", "true"},
			"",
			1,
			`lifeline: cannot create recording: open .*/no/r: no such file or directory`,
		},
		"watch of no object": {
			"the form is named",
			[]string{"watch", "web"},
			"",
			1,
			`lifeline: "web" is not KIND/NAME`,
		},
		"watch of no kind": {
			"the kind is named",
			[]string{"watch", "frob/web"},
			"",
			1,
			`lifeline: cannot watch frob/web: the cluster has no kind or resource "frob"`,
		},
		"record to nowhere": {
			"the file is named",
			[]string{"record", dir + "/no/r"},
			"",
			1,
			`lifeline: cannot create recording: open .*/no/r: no such file or directory`,
		},
		"record without file": {"what is missing", []string{"record"}, "", 1, `lifeline: .*arg.*`},
		"replay without file": {"what is missing", []string{"replay"}, "", 1, `lifeline: .*arg.*`},
		"replay of no file": {
			"the file is named",
			[]string{"replay", dir + "/none"},
			"",
			1,
			`lifeline: cannot open recording: open .*/none: no such file or directory`,
		},
		"replay of an output?": {
			"the output is checked first",
			[]string{"replay", "-o", "xml", dir + "/none"},
			"",
			1,
			`lifeline: unknown output "xml": .*`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := bench.Begin(t, harness.Call{Args: tt.args, Kubeconfig: tt.kubeconfig})
			r := p.Wait(t)
			ends(t, r, tt.code)
			says(t, r, tt.want)
			p.NothingLeft(t)
		})
	}
}

func TestUnreachableCluster(t *testing.T) {
	addr := harness.Free(t)
	config := bench.KubeconfigWith(
		t,
		func(c *harness.Config) { c.Clusters[c.Contexts[c.CurrentContext].Cluster].Server = "https://" + addr },
	)
	refused := `.*` + regexp.QuoteMeta(addr) + `.*connection refused`
	for name, args := range map[string][]string{
		"watch":  {"watch"},
		"record": {"record", filepath.Join(t.TempDir(), "r")},
	} {
		t.Run(name, func(t *testing.T) {
			r := bench.Do(t, harness.Call{Args: args, Kubeconfig: config})
			ends(t, r, 1)
			says(t, r, `lifeline: `+refused)
		})
	}
	t.Run("run", func(t *testing.T) {
		p := bench.Begin(t, harness.Call{
			Args:       []string{"run", "--", "sh", "-c", "kubectl get pods 2>/dev/null"},
			Kubeconfig: config,
		})
		r := p.Wait(t)
		ends(t, r, 1)
		says(t, r, `lifeline: cannot reach https://`+regexp.QuoteMeta(addr)+`: .*connection refused`)
		p.NothingLeft(t)
	})
}

func TestCommandsOwnCode(t *testing.T) {
	t.Parallel()
	t.Run("failed without a change", func(t *testing.T) {
		r := bench.Exec(t, "run", "--", "sh", "-c", "exit 9")
		ends(t, r, 9)
		says(t, r)
	})
	t.Run("killed by a signal", func(t *testing.T) {
		r := bench.Exec(t, "run", "--", "sh", "-c", "kill -TERM $$")
		ends(t, r, 143)
		says(t, r)
	})
	t.Run("failed after a change", func(t *testing.T) {
		ns := bench.Namespace(t)
		r := bench.Run(t, 7, nil, "sh", "-c", "kubectl create configmap kept --namespace "+ns+"; exit 7")
		outline(t, r, `
run failed
  create ConfigMap kept (request)
`)
		if root := r.Traces[0].Find("run", "")[0]; !root.Error || root.Attributes["lifeline.run.exit_code"] != "7" {
			t.Errorf("the run's span is no error with the command's code: %+v", root)
		}
	})
	t.Run("talks to no cluster", func(t *testing.T) {
		r := bench.Exec(t, "run", "--", "true")
		ends(t, r, 0)
		says(
			t,
			r,
			`lifeline: no request came through lifeline's proxy: "true" does not use KUBECONFIG, or needs no cluster`,
		)
	})
	t.Run("only reads", func(t *testing.T) {
		r := bench.Exec(t, "run", "--", "sh", "-c", "kubectl get namespaces >/dev/null")
		ends(t, r, 0)
		says(t, r, `lifeline: nothing changed: the command wrote nothing`)
	})
	t.Run("changes nothing", func(t *testing.T) {
		ns := bench.Namespace(t)
		manifest := harness.File(t, configMap(ns, "same", "a: b"))
		bench.MustKubectl(t, "", "apply", "-f", manifest)
		r := bench.Exec(t, "run", "--", "sh", "-c", "kubectl apply -f "+manifest+" >/dev/null")
		ends(t, r, 0)
		says(
			t,
			r,
			`lifeline: nothing changed: what was written was there already|lifeline: nothing changed: the `+
				`command wrote nothing`,
		)
	})
}

func TestNoPermission(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	config := bench.KubeconfigFor(alice)
	t.Run("run", func(t *testing.T) {
		r := bench.Do(t, harness.Call{
			Args:       []string{"run", "-o", "json", "--", "kubectl", "-n", ns, "create", "configmap", "mine"},
			Kubeconfig: config,
		})
		if r.Code != 1 {
			t.Errorf("exit code %d, want kubectl's", r.Code)
		}
		outline(t, harness.Parse(t, r), `
run refused
  create ConfigMap mine refused (request)
`)
		says(
			t, r, `error: failed to create configmap: .*forbidden: User "alice" cannot create.*`,
			`lifeline: refused: the creation of ConfigMap mine was refused: Forbidden: \(text withheld\)`,
		)
	})
	t.Run("watch", func(t *testing.T) {
		r := bench.Do(t, harness.Call{Args: []string{"watch", "-n", ns, "--for", "15s"}, Kubeconfig: config})
		ends(t, r, 0)
		says(
			t,
			r,
			`lifeline: not permitted to watch in namespace .*: .*pods.*; continuing without them`,
			`lifeline: watching namespace .*`,
		)
	})
}

func TestRefusedWrites(t *testing.T) {
	t.Parallel()
	ns := bench.Namespace(t)
	bench.MustKubectl(
		t,
		"",
		"-n",
		ns,
		"create",
		"quota",
		"few",
		"--hard=services=1,configmaps=1",
	) // kube-root-ca.crt is one
	harness.Eventually(t, "the quota's first count", func() bool {
		return strings.Contains(
			bench.MustKubectl(t, "", "-n", ns, "get", "quota", "few", "-o", "jsonpath={.status.used}"),
			`"configmaps":"1"`,
		)
	})
	tests := map[string]struct {
		reason string
		stdin  string
		want   string
		said   string
	}{
		"invalid object": {
			"an answer of 422 is a failed write",
			"apiVersion: v1\nkind: Service\nmetadata: {name: bad, namespace: " + ns +
				"}\nspec: {ports: [{port: 99999}]}\n",
			`
run refused
  create Service bad refused (request)
`,
			`Invalid`,
		},
		"over quota": {
			"an answer of 403; what passed before it is kept",
			service(ns, "first") + "---\n" + service(ns, "second"), `
run refused
  create Service second refused (request)
  reconcile Service first converged (request)
    create Service first (request)
`, `Forbidden: services "second" is forbidden: exceeded quota: few, requested: services=1, used: services=1, ` +
				`limited: services=1`,
		},
		"confidential": {
			"nothing of the message is kept: it may quote data", configMap(ns, "settings", "a: b"), `
run refused
  create ConfigMap settings refused (request)
`, `Forbidden: (text withheld)`,
		},
		"gone": {
			"a delete of what is not there is answered 404, and changes nothing", "", `
run refused
  delete ConfigMap none refused (request)
`, `NotFound`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			command := []string{"kubectl", "create", "-f", harness.File(t, tt.stdin)}
			if tt.stdin == "" {
				command = []string{"kubectl", "delete", "--raw", "/api/v1/namespaces/" + ns + "/configmaps/none"}
			}
			r := bench.Run(t, 1, nil, command...)
			outline(t, r, tt.want)
			failed := 0
			for _, s := range r.Traces[0].Spans {
				if s.Error && strings.Contains(s.Attributes["lifeline.message"], tt.said) {
					failed++
				}
			}
			if failed == 0 {
				t.Errorf("%s: no failed span tells %q:\n%s", tt.reason, tt.said, r.Stdout)
			}
		})
	}
}
