// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed bounds the namespaces in a message.
const maxNamed = 10

// sayBounds prints a line if the answers of a server lack namespaces that the command is about: the server does not
// watch them, or the user may not see them.
func sayBounds(o *Options, s *Session) {
	about := s.About
	if !covered(o, about.Namespaces) {
		o.Say("the server at %s watches only namespace %s, and no other one is in its answers", Shown(s.Server()),
			Shown(strings.Join(about.Namespaces, ", ")))
	}
	if covered(o, about.Visible) {
		return
	}
	if !o.Everywhere {
		namespace := Shown(o.Kubeconfig.Namespace())
		o.Say("namespace %s has no change that you may see; without the right to its changes, ask the cluster's admin "+
			"for view in namespace %s", namespace, namespace)
		return
	}
	named := about.Visible[:min(len(about.Visible), maxNamed)]
	text := Shown(strings.Join(named, ", "))
	if more := len(about.Visible) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if about.Unasked > 0 {
		text += fmt.Sprintf("; %d further namespaces were not checked, -n names one of them", about.Unasked)
	}
	o.Say("the answers have only the namespaces that you may see: %s", text)
}

// covered reports whether these namespaces are those of the command. None means the whole cluster.
func covered(o *Options, namespaces []string) bool {
	if len(namespaces) == 0 || o.Kubeconfig == nil {
		return true
	}
	return !o.Everywhere && slices.Contains(namespaces, o.Kubeconfig.Namespace())
}
