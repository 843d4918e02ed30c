// SPDX-License-Identifier: Apache-2.0

package commandline

import "maps"

// program is the harmless part of a program's command line.
type program struct {
	verb
	flags    map[string]check // flags with a value; nil hides the value
	switches map[string]bool  // flags without a value
}

// verb limits the words shown after a program or a verb.
type verb struct {
	verbs map[string]verb
	names int // number of other words to show
	check check
	// command means that a command follows the names.
	command bool
}

// anyNumber allows any number of words after a verb.
const anyNumber = -1

// programs by the base name of their file.
var programs = map[string]program{
	"kubectl":   kubectl,
	"kubecolor": kubectl,
	"oc":        kubectl,
	"helm":      helm,
	"make":      gnuMake,
	"kustomize": {verb: verb{verbs: verbs(verb{names: 1, check: path}, "build")}},
	"flux": {
		verb:     verb{verbs: verbs(verb{names: 3, check: name}, "delete", "reconcile", "resume", "suspend")},
		flags:    kubectlFlags,
		switches: set("--force", "--with-source"),
	},
	"argocd":    {verb: verb{verbs: verbs(verb{names: 2, check: name}, "app", "appset")}},
	"helmfile":  {verb: verb{verbs: verbs(verb{}, "apply", "destroy", "diff", "sync")}},
	"pulumi":    {verb: verb{verbs: verbs(verb{}, "destroy", "preview", "refresh", "up")}},
	"skaffold":  {verb: verb{verbs: verbs(verb{}, "apply", "delete", "deploy", "dev", "run")}},
	"terraform": {verb: verb{verbs: verbs(verb{}, "apply", "destroy", "plan")}},
	"tofu":      {verb: verb{verbs: verbs(verb{}, "apply", "destroy", "plan")}},
}

var kubectl = program{
	verb: verb{verbs: joined(
		verbs(verb{names: anyNumber, check: name},
			"autoscale", "certificate", "cordon", "create", "delete", "describe", "drain", "edit", "expose", "get",
			"patch", "replace", "rollout", "scale", "uncordon", "wait"),
		verbs(verb{names: anyNumber, check: nameOrKey}, "annotate", "label", "taint"),
		verbs(verb{names: 3, check: name}, "apply"),
		verbs(verb{names: 1, check: name}, "attach", "config", "logs", "port-forward"),
		verbs(verb{names: 1, check: name, command: true}, "debug", "exec", "run"),
		verbs(verb{names: 1, check: path}, "diff", "kustomize"),
		map[string]verb{
			"set": {verbs: joined(
				verbs(verb{names: anyNumber, check: nameOrImage}, "image"),
				verbs(verb{names: anyNumber, check: nameOrKey}, "env"),
				verbs(verb{names: anyNumber, check: name}, "resources", "selector", "serviceaccount", "subject"),
			)},
		},
	)},
	flags: kubectlFlags,
	switches: set("-A", "-R", "-i", "-q", "-t", "-w",
		"--all", "--all-containers", "--all-namespaces", "--attach", "--delete-emptydir-data", "--disable-eviction",
		"--dry-run", "--expose", "--force", "--force-conflicts", "--ignore-daemonsets", "--ignore-not-found",
		"--insecure-skip-tls-verify", "--list", "--local", "--no-headers", "--now", "--overwrite", "--prune", "--quiet",
		"--record", "--recursive", "--rm", "--save-config", "--server-side", "--show-labels", "--stdin", "--tty",
		"--wait",
		"--watch"),
}

// kubectlFlags have harmless values. The values of all other flags are hidden.
var kubectlFlags = joined(
	flags(name, "-c", "-n", "--as", "--as-group", "--class", "--cluster", "--clusterrole", "--container", "--context",
		"--field-manager", "--group", "--name", "--namespace", "--resource", "--role", "--serviceaccount",
		"--subresource",
		"--user", "--verb"),
	flags(path, "-f", "-k", "-s", "--certificate-authority", "--client-certificate", "--client-key", "--filename",
		"--from-env-file", "--kubeconfig", "--kustomize", "--patch-file", "--server"),
	flags(number, "-v", "--cpu-percent", "--current-replicas", "--grace-period", "--max", "--min", "--port",
		"--replicas",
		"--request-timeout", "--revision", "--since", "--tail", "--target-port", "--timeout", "--to-revision"),
	flags(word, "-o", "--cascade", "--dry-run", "--output", "--protocol", "--restart", "--type", "--validate"),
	flags(key, "-e", "-l", "--env", "--from-literal", "--labels", "--selector"),
	flags(quantities, "--limits", "--requests"),
	flags(image, "--image"),
	flags(keyedFile, "--from-file"),
	flags(condition, "--for"),
)

var helm = program{
	verb: verb{verbs: joined(
		verbs(verb{names: 2, check: path}, "install", "template", "upgrade"),
		verbs(verb{names: anyNumber, check: name}, "delete", "get", "history", "rollback", "status", "test",
			"uninstall"),
	)},
	flags: joined(
		flags(name, "-n", "--kube-context", "--namespace"),
		flags(path, "-f", "--kubeconfig", "--repo", "--values"),
		flags(name, "--version"),
		flags(number, "--history-max", "--timeout"),
		flags(word, "-o", "--dry-run", "--output"),
		flags(key, "--set", "--set-file", "--set-json", "--set-literal", "--set-string"),
	),
	switches: set("-i", "--atomic", "--cleanup-on-fail", "--create-namespace", "--debug", "--dependency-update",
		"--devel",
		"--dry-run", "--force", "--install", "--no-hooks", "--reset-values", "--reuse-values", "--wait",
		"--wait-for-jobs"),
}

// gnuMake has no verbs: its words are goals and variables.
var gnuMake = program{
	verb:  verb{names: anyNumber, check: nameOrKey},
	flags: joined(flags(path, "-C", "-f"), flags(number, "-j")),
}

func verbs(v verb, names ...string) map[string]verb {
	out := make(map[string]verb, len(names))
	for _, name := range names {
		out[name] = v
	}
	return out
}

func flags(c check, names ...string) map[string]check {
	out := make(map[string]check, len(names))
	for _, name := range names {
		out[name] = c
	}
	return out
}

func set(names ...string) map[string]bool {
	out := make(map[string]bool, len(names))
	for _, name := range names {
		out[name] = true
	}
	return out
}

func joined[V any](parts ...map[string]V) map[string]V {
	out := map[string]V{}
	for _, part := range parts {
		maps.Copy(out, part)
	}
	return out
}
