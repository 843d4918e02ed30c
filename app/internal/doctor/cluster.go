// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// maxNamed limits the names in a line.
const maxNamed = 5

// some returns the first names, and the number of the others.
func some(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

// checkCluster reports on the cluster.
func checkCluster(f *Facts) Check {
	c := Check{Name: "cluster", Status: OK}
	if !f.Cluster.Is() {
		c.Status, c.Found = Unknown, "not asked: "+f.Cluster.Unknown
		c.Lose = "what it could tell of versions, rights, nodes and how its components are configured"
		return c
	}
	is := f.cluster()
	c.Found = "Kubernetes " + is.Version
	if m, ok := is.managed(); ok {
		c.Found += ", " + m.name
	}
	if !is.Nodes.Is() {
		c.Found += "; its nodes are not known: " + is.Nodes.Unknown
		return c
	}
	c.Found += "; " + plural(len(is.Nodes.Value), "node")
	if fake := count(is.Nodes.Value, func(n Node) bool { return n.Provider == Kwok }); fake > 0 {
		c.Found += fmt.Sprintf(", %d of them kwok's, where nothing runs", fake)
	}
	return c
}

// oldest is the first version of Kubernetes with tracing in kube-apiserver and kubelet without a
// feature gate.
const oldest = "1.27.0"

// checkVersions reports whether the programs' versions fit together.
func checkVersions(f *Facts) Check {
	c := Check{Name: "versions", Status: OK, Found: "lifeline " + f.Version}
	is := f.cluster()
	if is != nil && older(is.Version, oldest) {
		c.Status = Advice
		c.Found += "; kube-apiserver and kubelet trace only behind feature gates before Kubernetes 1.27"
		c.Lose = "spans of kube-apiserver and kubelet, unless the gates APIServerTracing and KubeletTracing are on"
	}
	if is != nil {
		if versions := distinct(f.machines(), func(n Node) string { return n.Kubelet }); len(versions) > 0 {
			c.Found += "; kubelet " + some(versions)
		}
		if versions := distinct(f.machines(), func(n Node) string { return n.Runtime }); len(versions) > 0 {
			c.Found += "; " + some(versions)
		}
	}
	if s := f.server(); s != nil && s.Version != f.Version {
		c.Status = Advice
		c.Found += "; the server is lifeline " + s.Version
		c.Lose = strings.TrimPrefix(c.Lose+"; what only one of the two versions knows", "; ")
	}
	return c
}

// badSkew is the clock difference, in seconds, above which times look wrong.
const badSkew = 1.0

// checkClock reports whether this machine and the API server agree on the time.
func checkClock(f *Facts) Check {
	is := f.cluster()
	if is == nil {
		return none
	}
	c := Check{Name: "clock", Status: OK}
	skew := is.Clock.Value
	switch {
	case !is.Clock.Is():
		c.Status, c.Found = Unknown, "not compared with the API server's: "+is.Clock.Unknown
	case skew.Low <= 0 && skew.High >= 0:
		c.Found = "in step with the API server, to the second"
	case skew.Low > 0:
		c.Found = fmt.Sprintf("this machine's is at least %.1f s behind the API server's", skew.Low)
	default:
		c.Found = fmt.Sprintf("this machine's is at least %.1f s ahead of the API server's", -skew.High)
	}
	if is.Clock.Is() && (skew.Low > badSkew || skew.High < -badSkew) {
		c.Status = Advice
		c.Lose = "true lengths, where a time of this machine (lifeline run, or a server on it) stands beside one of " +
			"the cluster's"
		c.Add = []Lines{
			{Where: "this machine or the control plane, whichever is wrong", Text: "timedatectl set-ntp true\n"},
		}
	}
	return c
}

// checkRights reports the resources that the caller may not read.
func checkRights(f *Facts) Check {
	is := f.cluster()
	if is == nil {
		return none
	}
	c := Check{Name: "your rights", Status: OK}
	r := is.Rights.Value
	switch {
	case !is.Rights.Is():
		c.Status, c.Found = Unknown, is.Rights.Unknown
	case r.Namespace != "" && len(r.Denied) == 0:
		c.Found = fmt.Sprintf("you may list and watch all %s in namespace %s, where you work",
			plural(r.Resources, "resource"), r.Namespace)
	case r.Namespace != "":
		c.Status = Advice
		c.Found = fmt.Sprintf("you may not list and watch %d of %s in namespace %s, where you work: %s", len(r.Denied),
			plural(r.Resources, "resource"), r.Namespace, some(r.Denied))
		c.Lose = "in lifeline run, watch and trace --direct, what happens to these"
		c.Add = []Lines{{
			Where: "by who may grant it, for your user or ServiceAccount (--serviceaccount=NAMESPACE:NAME)",
			Text:  "kubectl -n " + r.Namespace + " create rolebinding lifeline-view --clusterrole=view --user=NAME\n",
		}}
	case len(r.Denied) == 0:
		c.Found = fmt.Sprintf("you may list and watch all %s in all namespaces", plural(r.Resources, "resource"))
	default:
		c.Status = Missing
		if f.Server.Is() {
			c.Status = Advice // the server has its own rights
		}
		c.Found = fmt.Sprintf("you may not list and watch %d of %s in all namespaces: %s", len(r.Denied),
			plural(r.Resources, "resource"), some(r.Denied))
		c.Lose = "in lifeline run, watch and trace --direct, what happens to these: owners and phases that are not " +
			"seen, and traces that never settle"
		c.Add = []Lines{{
			Where: "by who may grant it, for a ServiceAccount of namespace lifeline; or bind its ClusterRole " +
				"lifeline to your user",
			Text: createNamespace + "lifeline rbac -n lifeline | kubectl apply -f -\n",
		}}
	}
	return c
}

// createNamespace is the first line of advice to apply manifests.
const createNamespace = "kubectl create namespace lifeline   # unless it exists\n"

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func count[T any](all []T, is func(T) bool) (n int) {
	for _, one := range all {
		if is(one) {
			n++
		}
	}
	return n
}

// distinct returns the different texts of all, sorted.
func distinct[T any](all []T, text func(T) string) []string {
	var out []string
	for _, one := range all {
		if s := text(one); s != "" {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
