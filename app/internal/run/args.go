// SPDX-License-Identifier: Apache-2.0

package run

import (
	"fmt"
	"net/url"
	"strings"
)

// reading is the result of parsing a command's arguments for clusters.
type reading struct {
	// servers are the API servers named in the arguments.
	servers []string
	// notes warn the user of requests that bypass the proxy.
	notes []string
}

// readArgs finds arguments that bypass the temporary kubeconfig. It supports kubectl's flags, which
// most programs in this field share.
func readArgs(args []string) reading {
	var r reading
	for i := 1; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if name == "--" {
			break
		}
		if !joined && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "--kubeconfig":
			r.notes = append(r.notes, fmt.Sprintf("--kubeconfig %s leads the command around lifeline, which will "+
				"not see what it changes; give it to lifeline instead: lifeline run --kubeconfig %s -- …", value,
				value))
		case "--server", "-s":
			if u, err := url.Parse(value); err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") {
				r.servers = append(r.servers, value)
			}
		case "--certificate-authority", "--client-certificate":
			r.notes = append(r.notes, fmt.Sprintf(
				"%s does not hold under lifeline run; give it to lifeline instead: lifeline run %s %s -- …", name,
				name, value,
			))
		default:
			if strings.Contains(args[i], "KUBECONFIG=") || strings.Contains(args[i], "--kubeconfig") {
				r.notes = append(
					r.notes,
					"the command sets a kubeconfig of its own: lifeline will not see what it changes with that",
				)
			}
		}
	}
	return r
}
