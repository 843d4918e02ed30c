// SPDX-License-Identifier: Apache-2.0

package run

import (
	"regexp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// secretFlags are flags of kubectl, helm and their like whose values may hold
// secrets.
var secretFlags = []string{
	"--from-literal", "--token", "--password", "--docker-password", "--env",
	"--set", "--set-string", "--set-json", "--set-literal", "-p", "--patch", "--overrides",
}

// variable is an assignment to an environment variable, as in
// `kubectl set env deployment/web PASSWORD=…`.
var variable = regexp.MustCompile(`^([A-Z_][A-Z0-9_]*)=.`)

// hidden stands for a value that is left out.
const hidden = "…"

// commandText is the command as it may stand in a trace: on one line, bounded,
// and without the values of arguments that may hold secrets. Of an assignment
// the name stays.
func commandText(args []string) string {
	out := make([]string, 0, len(args))
	secret := false
	for _, arg := range args {
		flag, value, assigned := strings.Cut(arg, "=")
		switch {
		case secret:
			out, secret = append(out, hide(arg)), false
		case assigned && slices.Contains(secretFlags, flag):
			out = append(out, flag+"="+hide(value))
		case slices.Contains(secretFlags, arg):
			out, secret = append(out, arg), true
		case variable.MatchString(arg):
			out = append(out, hide(arg))
		default:
			out = append(out, arg)
		}
	}
	return span.Bound(strings.Join(out, " "))
}

// name is what may stand before the "=" of an assignment whose name is shown.
var name = regexp.MustCompile(`^[A-Za-z0-9_.\-/\[\]]+$`)

func hide(value string) string {
	if key, _, ok := strings.Cut(value, "="); ok && name.MatchString(key) {
		return key + "=" + hidden
	}
	return hidden
}
