// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

func TestCommandLine(t *testing.T) {
	cases := map[string]struct {
		reason string
		argv0  string
		args   string
		code   int
		out    string
		log    string
	}{
		"Version": {"", "lifeline", "version", 0, "lifeline ", ""},
		"Alone": {
			"without a kubeconfig it says what to do", "lifeline", "", 0,
			"kubeconfig  there is none: set KUBECONFIG, or have one at ~/.kube/config\n", "",
		},
		"AlonePlugin": {"", "kubectl-lifeline", "", 0, "\n  kubectl lifeline --help ", ""},
		"VersionFlag": {"as of other programs", "lifeline", "--version", 0, "lifeline ", ""},
		"KubeconfigFlags": {
			"after the command's own",
			"lifeline",
			"trace --help",
			0,
			"of the \"lifeline serve\" that --server or LIFELINE_SERVER names\n\n" +
				"Flags of the kubeconfig, as in kubectl:\n" +
				"      --as string",
			"",
		},
		"LsSortBy": {
			"", "lifeline", "ls --sort-by age", 1, "",
			"lifeline: --sort-by \"age\": known are duration, outcome, spans, start, what, who\n",
		},
		"CompareNothing": {
			"", "lifeline", "compare", 1, "",
			"lifeline: nothing to compare: give two traces, two objects, one object, or a question with --where\n",
		},
		"CompareShort": {
			"two words are one object", "lifeline", "compare deploy web --server=", 1, "",
			"lifeline: there is no server",
		},
		"CompareTraces": {
			"two words of digits are two traces", "lifeline", "compare 4bf92f35 0af76519 --since 1d", 1, "",
			"lifeline: --since and --until bound sets of lifecycles: two traces have none\n",
		},
		"CompareOutput": {
			"", "lifeline", "compare deploy/web -o xml", 1, "",
			"lifeline: unknown output \"xml\": known are table, wide, json, yaml\n",
		},
		"RegressionsMany": {
			"", "lifeline", "regressions deploy/web deploy/api", 1, "",
			"lifeline: lifeline regressions takes one workload, KIND/NAME or KIND NAME; there are 2\n",
		},
		"RegressionsServer": {
			"", "lifeline", "regressions --server=", 1, "", "lifeline: there is no server",
		},
		"RegressionsComplete": {
			"completion of fields", "lifeline", "__complete regressions --where nod", 0, "node\tnode of a Pod", "",
		},
		"CompareComplete": {
			"completion of the second question", "lifeline", "__complete compare --and nod", 0, "node\tnode of a Pod",
			"",
		},
		"LsSelector": {"", "lifeline", "ls -l a=b=c", 1, "", "lifeline: --selector \"a=b=c\": "},
		"LsMany": {
			"",
			"lifeline",
			"ls deploy web api",
			1,
			"",
			"lifeline ls takes one object, KIND/NAME or KIND NAME; there are 3\n",
		},
		"TraceWords": {
			"kubectl's two words",
			"lifeline",
			"trace deployment web --direct",
			1,
			"",
			"lifeline: there is no kubeconfig",
		},
		"Plugin": {
			"as a plugin of kubectl it is called so", "/bin/kubectl-lifeline", "run --help", 0,
			"kubectl lifeline run [flags] -- COMMAND", "",
		},
		"NoKubeconfig": {
			"one clear line",
			"lifeline",
			"run -- true",
			1,
			"",
			"lifeline: there is no kubeconfig: set KUBECONFIG or --kubeconfig to an existing file, or have one at " +
				"~/.kube/config\n",
		},
		"NoCommand": {
			"", "lifeline", "run", 1, "", "lifeline: there is no command to run: lifeline run [flags] -- COMMAND\n",
		},
		"BadTimeout": {
			"", "lifeline", "run --timeout 0s -- true", 1, "", "lifeline: --timeout 0s: it must be more than 0\n",
		},
		"BadFlag": {"", "lifeline", "run --nosuch -- true", 1, "", "lifeline: unknown flag: --nosuch\n"},
		"BadOutput": {
			"",
			"lifeline",
			"replay -o xml f",
			1,
			"",
			"lifeline: unknown output \"xml\": known are tree, table, mermaid, dot, perfetto, json, yaml, name\n",
		},
		"NoRecording": {
			"the file is named", "lifeline", "replay /no/such/file", 1, "",
			"lifeline: cannot open recording: open /no/such/file: no such file or directory\n",
		},
		"BadConfig": {
			"the file is named", "lifeline", "run --kubeconfig /no/such/file -- true", 1, "", "/no/such/file",
		},
		"LsNoServer": {
			"how to get one", "lifeline", "ls --server=", 1, "",
			"lifeline: there is no server: start one with \"lifeline ui\", install one in the cluster with " +
				"\"lifeline install\", or name one with --server or LIFELINE_SERVER\n",
		},
		"FindNoServer": {
			"how to get one", "lifeline", "find volumes>2 --server=", 1, "",
			"lifeline: there is no server: start one with \"lifeline ui\", install one in the cluster with " +
				"\"lifeline install\", or name one with --server or LIFELINE_SERVER\n",
		},
		"FindNothing": {
			"", "lifeline", "find", 1, "",
			"lifeline: lifeline find takes one argument, a question; there are 0 (see lifeline find --help)\n",
		},
		"FindOutput": {
			"", "lifeline", "find x -o xml", 1, "",
			"lifeline: unknown output \"xml\": known are table, wide, json, yaml, name, csv\n",
		},
		"FindGroups": {
			"completion of keys", "lifeline", "__complete find --by image,nod", 0, "image,node\n", "",
		},
		"FindWords": {
			"completion of a question", "lifeline", "__complete find phase.pul", 0, "phase.pull\tpulls of images\n", "",
		},
		"SQLNoDirectory": {
			"how to name one", "lifeline", "sql x --data-dir /no/such/dir", 1, "",
			"lifeline: cannot answer the statement: there is no data directory /no/such/dir: name that of",
		},
		"LsDown": {
			"a named one must answer", "lifeline", "ls --server http://127.0.0.1:1", 1, "",
			"lifeline: cannot ask the server that --server names: no server answers at http://127.0.0.1:1",
		},
		"LsOutput": {
			"",
			"lifeline",
			"ls -o tree",
			1,
			"",
			"lifeline: unknown output \"tree\": known are table, wide, json, yaml, name, csv\n",
		},
		"LsSlow": {
			"the flag's value needs its equals sign", "lifeline", "ls --slow 30s", 1, "",
			"lifeline: \"30s\" is not KIND/NAME; the minimum duration is --slow=30s\n",
		},
		"LsSince": {
			"",
			"lifeline",
			"ls --since yesterday",
			1,
			"",
			"lifeline: --since \"yesterday\": it must be a duration back from now, such as 90m or 1d, " +
				"or a time, such as 2026-03-01T12:00:00Z\n",
		},
		"LsOutputs": {
			"outputs are completed",
			"lifeline",
			"__complete ls -o ",
			0,
			"table\nwide\njson\nyaml\nname\n",
			"",
		},
		"LsHelp": {
			"which server is asked", "lifeline", "ls --help", 0,
			"LIFELINE_SERVER, else the one at\nhttp://127.0.0.1:7070", "",
		},
		"TraceName": {
			"", "lifeline", "trace web", 1, "",
			"lifeline: \"web\" is neither KIND/NAME nor a trace ID (at least 8 hexadecimal digits)\n",
		},
		"TraceNothing": {
			"neither server nor cluster", "lifeline", "trace deployment/web --direct", 1, "",
			"lifeline: there is no kubeconfig",
		},
		"TraceID": {
			"IDs are known to servers only", "lifeline", "trace 4bf92f35 --direct", 1, "",
			"lifeline: cannot look up a trace ID, and KIND/NAME needs no server: there is no server",
		},
		"TraceOutputs": {
			"",
			"lifeline",
			"__complete trace -o ",
			0,
			"tree\ntable\nmermaid\ndot\nperfetto\njson\nyaml\nname\nhtml\n",
			"",
		},
		"TraceServer": {"", "lifeline", "__complete trace --server ", 0, "http://127.0.0.1:7070\n", ""},
		"WatchNothing": {
			"neither server nor cluster", "lifeline", "watch --direct", 1, "", "lifeline: there is no kubeconfig",
		},
		"WatchName": {"", "lifeline", "watch web", 1, "", "lifeline: \"web\" is not KIND/NAME\n"},
		"WatchRecord": {
			"", "lifeline", "watch --record f --server http://x", 1, "",
			"lifeline: --record sees the cluster itself: it does not go with --server\n",
		},
		"DoctorNothing": {
			"neither cluster nor server", "lifeline", "doctor --server none", 1, "",
			"lifeline: there is nothing to look at: no cluster (there is no kubeconfig)",
		},
		"DoctorOutput": {"", "lifeline", "doctor -o yaml", 1, "", "lifeline: unknown output \"yaml\""},
		"DoctorArgs": {
			"it looks at all there is", "lifeline", "doctor web", 1, "", "lifeline: unknown command \"web\"",
		},
		"WebhookPrint": {
			"without a cluster", "lifeline", "webhook print -n tracing --exclude-namespace ci", 0,
			"# The admission webhook of lifeline, written by lifeline webhook print.\napiVersion: " +
				"admissionregistration.k8s.io/v1\n", "",
		},
		"WebhookPrintContext": {
			"it contacts no cluster", "lifeline", "webhook print --context blue", 1, "",
			"lifeline: unknown flag: --context\n",
		},
		"WebhookBoth": {
			"one server", "lifeline", "webhook print --service a/b --url https://c", 1, "",
			"lifeline: give either --service or --url: one server gets the requests\n",
		},
		"WebhookCA": {
			"one authority is right", "lifeline", "webhook install --ca-file a --cert-manager b/c", 1, "",
			"lifeline: give either --ca-file or --cert-manager: the authorities have one source\n",
		},
		"WebhookNoFile": {
			"the file is named", "lifeline", "webhook install --ca-file /no/such/file", 1, "",
			"lifeline: cannot read the authorities (--ca-file): open /no/such/file: no such file or directory\n",
		},
		"WebhookNone": {
			"after the flags",
			"lifeline",
			"webhook install",
			1,
			"",
			"lifeline: there is no kubeconfig: set KUBECONFIG or --kubeconfig to an existing file, or have one at " +
				"~/.kube/config\n",
		},
		"WebhookName": {
			"", "lifeline", "webhook uninstall --name A/B", 1, "",
			"lifeline: --name \"A/B\": an object's name has small letters, digits, '-' and '.'\n",
		},
		"WebhookLeft": {
			"", "lifeline", "webhook uninstall --convention x", 1, "",
			"lifeline: --convention \"x\": known are default, ",
		},
		"WebhookArgs": {
			"", "lifeline", "webhook instal", 1, "", "lifeline: unknown command \"instal\" for \"lifeline webhook\"",
		},
		"WebhookServe": {
			"there is nothing that could call", "lifeline", "webhook serve", 1, "",
			"set webhook.endpoint.address in the configuration file, or --address\n",
		},
		"ServeOpen": {
			"callers must be known", "lifeline", "serve --api-address :7070", 1, "",
			"api.address: Invalid value: \":7070\": must be of loopback, such as 127.0.0.1:7070, unless api.tls " +
				"is set, and either api.tokenFile or api.authorization: kubernetes\n",
		},
		"WebhookOpen": {
			"the API server calls by TLS", "lifeline", "webhook serve --address :9443", 1, "",
			"webhook.endpoint.address: Invalid value: \":9443\": must be of loopback",
		},
		"DidYouMean": {
			"one line, no tabs", "lifeline", "runn", 1, "",
			"lifeline: unknown command \"runn\" for \"lifeline\": did you mean run?\n",
		},
		"Bool": {
			"not Go's words", "lifeline", "webhook print --observe=maybe", 1, "",
			"lifeline: --observe \"maybe\": it must be true or false\n",
		},
		"Duration": {
			"not Go's words", "lifeline", "run --timeout 5 -- true", 1, "",
			"lifeline: --timeout \"5\": it must be a duration with its unit, such as 90s or 5m\n",
		},
		"Port": {
			"not Go's words", "lifeline", "ui --remote-port 99999", 1, "",
			"lifeline: --remote-port \"99999\": it must be a whole number from 0 to 65535\n",
		},
		"DryRun": {
			"kubectl's values", "lifeline", "webhook install --dry-run=server", 1, "",
			"lifeline: there is no kubeconfig",
		},
		"DryRunAlone": {
			"as before", "lifeline", "webhook install --dry-run", 1, "", "lifeline: there is no kubeconfig",
		},
		"DryRunClient": {
			"there is a command for that", "lifeline", "webhook install --dry-run=client", 1, "",
			"lifeline: --dry-run \"client\": it must be none or server; lifeline webhook print shows the " +
				"configuration\n",
		},
		"Contexts": {
			"what a kubeconfig names is completed", "lifeline",
			"__complete watch --kubeconfig testdata/kubeconfig.yaml --context ", 0, "blue\ngreen\n", "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("KUBECONFIG", filepath.Join(os.Getenv("HOME"), "none"))
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			var out, log bytes.Buffer
			streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &log}
			root := newRoot(streams, tc.argv0)
			args := strings.Split(tc.args, " ")
			if tc.args == "" {
				args = nil
			}
			root.SetArgs(append([]string{}, args...)) // nil would mean those of the process
			if code := codeOf(root.ExecuteContext(context.Background()), streams); code != tc.code {
				t.Errorf("%s: code %d, want %d", tc.reason, code, tc.code)
			}
			if !strings.Contains(out.String(), tc.out) {
				t.Errorf("%s: standard output lacks %q:\n%s", tc.reason, tc.out, &out)
			}
			if !strings.Contains(log.String(), tc.log) {
				t.Errorf("%s: standard error lacks %q:\n%s", tc.reason, tc.log, &log)
			}
			if tc.code != 0 && strings.Count(log.String(), "\n") != 1 {
				t.Errorf("%s: not one line:\n%s", tc.reason, &log)
			}
		})
	}
}
