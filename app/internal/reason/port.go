// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// port is a port of a Service: its name or "", its number, and its port of the Pods.
type port struct{ name, number, target string }

// portsOf returns the ports of a Service.
func portsOf(leaves []observation.Leaf) []port {
	var out []port
	last := ""
	for _, l := range leaves {
		key, field, found := strings.Cut(strings.TrimPrefix(l.Path, "spec.ports["), "].")
		if !found || !strings.HasPrefix(l.Path, "spec.ports[") {
			continue
		}
		if key != last {
			out, last = append(out, port{}), key
		}
		p := &out[len(out)-1]
		switch field {
		case "name":
			p.name = l.Shown
		case "port":
			p.number = l.Shown
		case "targetPort":
			p.target = l.Shown
		}
	}
	return out
}

// has reports whether the port has that name or number.
func (p *port) has(nameOrNumber string) bool {
	return p.name == nameOrNumber || p.number == nameOrNumber
}

// leavesOf returns the fields of a version.
func leavesOf(v *history.Version) []observation.Leaf {
	if v.Fields == nil {
		return nil
	}
	return v.Fields.Leaves
}

// isNumber reports whether a text is a number.
func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
