// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/received"
)

// source is a component that sends spans.
type source struct {
	// name is the name of the check, component that of the spans.
	name, component string
	// lose is the information that traces lack without it.
	lose string
	// told describes the component's tracing settings; empty if they are unknown.
	told string
	// isTold means that tracing is known to be enabled, samples that it records only a part.
	isTold, samples bool
	// cannot is the reason why a provider's cluster does not allow tracing. may is the condition
	// under which it does. instead is the substitute source.
	cannot, may, instead string
	// rate is the share of expected spans that arrived, things its label, add the lines to add.
	// Rate.Of is zero without a basis.
	rate   received.Rate
	things string
	add    []Lines
}

// checkSource evaluates a component. Without a server that receives spans, no spans are expected.
func checkSource(f *Facts, o source) Check {
	c := Check{Name: o.name, Status: Advice, Lose: o.lose, Add: o.add}
	s := f.server()
	if s == nil || !s.receivesSpans() {
		c.Found = "there is no server to receive its spans"
		if s != nil {
			c.Found = "the server does not receive spans (receivers.otlp)"
		}
		c.Found += semicolon(o.told) + semicolon(o.may)
		if o.cannot != "" {
			c.Found += semicolon(o.cannot)
		} else {
			c.Add = append(receiverLines(), o.add...)
		}
		return c
	}
	got := s.From.Received.Component(o.component)
	switch {
	case got.Spans > 0:
		return came(f, o, got)
	case o.cannot != "":
		c.Found = o.cannot
		if o.instead != "" {
			c.Lose += ". Used instead: " + o.instead
		}
	case s.counted() < young:
		c.Status, c.Lose, c.Add = Unknown, "", nil
		c.Found = fmt.Sprintf("no span yet; the server counts only for %s%s", duration(s.counted()), semicolon(o.told))
	default:
		if o.may == "" {
			c.Status = Missing
		}
		o.told = strings.TrimPrefix(o.told+semicolon(o.may), "; ")
		c.Found = "no span in " + f.window() + semicolon(o.told)
		if got.All > 0 {
			c.Found = fmt.Sprintf("no span for %s; before, %d came%s", duration(s.From.Received.AsOf.Sub(got.Last)),
				got.All, semicolon(o.told))
		}
		if o.isTold {
			c.Found += ": its endpoint is not where the server is, or the rate is too low to show"
		}
	}
	return c
}

// came evaluates a component that sends spans.
func came(f *Facts, o source, got received.Component) Check {
	c := Check{Name: o.name, Status: OK, Found: fmt.Sprintf("%d spans in %s", got.Spans, f.window())}
	switch {
	case o.rate.Of == 0:
		c.Found += "; how much of all that is, nothing has shown yet"
		if o.samples {
			c.Status, c.Lose, c.Add = Advice, "for the rest: "+o.lose, o.add
			c.Found += semicolon(o.told)
		}
		return c
	case share(o.rate) >= complete:
		c.Found += "; there for " + words(o.rate, o.things)
		return c
	}
	c.Status, c.Lose, c.Add = Advice, "for the rest: "+o.lose, o.add
	c.Found += "; there for " + words(o.rate, o.things)
	if _, high := interval(o.rate); high < complete {
		c.Found += ": it samples, sends elsewhere too, or loses what its queue cannot hold"
	}
	c.Found += semicolon(o.told)
	return c
}

func semicolon(text string) string {
	if text == "" {
		return ""
	}
	return "; " + text
}

// window is the time that the counts cover.
func (f *Facts) window() string {
	s := f.server()
	if s == nil {
		return ""
	}
	d := time.Duration(s.From.Received.Window) * time.Second
	return "the last " + duration(max(min(d, s.counted()), 0))
}

// toldByFlag describes the flag in the copies of a process.
func toldByFlag(name string, all Known[[]Process], flag string) (told string, is bool) {
	if !all.Is() || len(all.Value) == 0 {
		return "", false
	}
	with := count(all.Value, func(p Process) bool { return p.Flags[flag] != "" && p.Flags[flag] != "false" })
	switch with {
	case 0:
		return fmt.Sprintf("%s is not told to (no --%s)", name, flag), false
	case len(all.Value):
		return fmt.Sprintf("%s is told to (--%s)", name, flag), true
	}
	return fmt.Sprintf("%d of %d are told to (--%s)", with, len(all.Value), flag), true
}

// checkAPIServer reports on kube-apiserver's spans.
func checkAPIServer(f *Facts) Check {
	o := source{
		name: "kube-apiserver", component: received.APIServer, add: f.apiServerLines(),
		lose:    "the request of each write, with admission, webhooks and the steps of storage; and what called for it",
		instead: "watches, field managers and Events",
	}
	if is := f.cluster(); is != nil {
		o.told, o.isTold = toldByFlag("it", is.APIServers, "tracing-config-file")
		if m, ok := is.managed(); ok {
			o.cannot, o.add = m.name+" does not let one configure it", nil
		}
	}
	if s := f.server(); s != nil {
		o.rate, o.things = s.From.Received.Coverage.Writes, "writes of the audit log"
		if o.rate.Of == 0 {
			o.rate, o.things = s.From.Received.Coverage.Changes, "changes that a watch saw, by count"
		}
	}
	return checkSource(f, o)
}

// checkEtcd reports on etcd's spans.
func checkEtcd(f *Facts) Check {
	o := source{
		name: "etcd", component: received.Etcd, add: f.etcdLines(),
		lose: "how long etcd itself took for a transaction: the API server's span of the call stays",
	}
	if is := f.cluster(); is != nil {
		o.told, o.isTold = toldByFlag("it", is.Etcds, "enable-distributed-tracing")
		if m, ok := is.managed(); ok {
			o.cannot, o.add = m.name+" does not let one configure it", nil
		}
	}
	s := f.server()
	if s == nil {
		return checkSource(f, o)
	}
	o.rate, o.things = s.From.Received.Coverage.Transactions, "calls of the API server"
	c := checkSource(f, o)
	if c.Status == Missing && s.From.Received.Component(received.APIServer).Spans == 0 {
		c.Status = Advice
		c.Found += "; without kube-apiserver's spans, etcd's belong nowhere"
	}
	return c
}

// checkKubelet reports on the kubelets' spans.
func checkKubelet(f *Facts) Check {
	o := source{
		name: "kubelet", component: received.Kubelet, add: f.kubeletLines(),
		lose: "the syncs of each Pod and their calls of the runtime: sandbox, pull, create, start, stop; phases " +
			"are then told to the second",
		instead: "conditions and Events",
	}
	is := f.cluster()
	if is != nil {
		o.told, o.isTold = toldKubelets(is.Kubelets)
		o.samples = o.isTold && slices.ContainsFunc(is.Kubelets.Value, func(k Kubelet) bool {
			return k.Tracing != nil && float64(k.Tracing.Rate) < complete*1e6
		})
		if m, ok := is.managed(); ok {
			o.may = m.name + ": " + m.kubelet
			if m.kubeletLines == nil {
				o.cannot, o.may = o.may, ""
			}
		}
		if machines := f.machines(); is.Nodes.Is() && len(machines) == 0 {
			o.cannot, o.add = "no node has a kubelet", nil
		}
	}
	s := f.server()
	if s == nil {
		return checkSource(f, o)
	}
	o.rate, o.things = s.From.Received.Coverage.Pods, "Pods that were bound"
	c := checkSource(f, o)
	if silent := f.silent(s); len(silent) > 0 && s.From.Received.Component(received.Kubelet).Spans > 0 {
		c.Found += fmt.Sprintf("; nothing from %d of %s: %s", len(silent), plural(len(f.machines()), "node"),
			some(silent))
		if s.counted() >= young {
			c.Status, c.Lose, c.Add = Missing, "on these nodes: "+o.lose, o.add
		}
	}
	return c
}

// toldKubelets describes the kubelets' tracing settings.
func toldKubelets(all Known[[]Kubelet]) (told string, is bool) {
	if !all.Is() || len(all.Value) == 0 {
		return "", false
	}
	with := count(all.Value, func(k Kubelet) bool { return k.Tracing != nil })
	switch with {
	case 0:
		return fmt.Sprintf("none of the %s that were asked is told to", plural(len(all.Value), "kubelet")), false
	case len(all.Value):
		rates := distinct(all.Value, func(k Kubelet) string { return perMillion(k.Tracing.Rate) })
		return fmt.Sprintf("told to, at %s (%s asked)", some(rates), plural(len(all.Value), "kubelet")), true
	}
	return fmt.Sprintf("%d of the %s that were asked are told to", with, plural(len(all.Value), "kubelet")), true
}

// perMillion formats a rate as percents.
func perMillion(rate int64) string {
	return percent(float64(rate)/1e6) + " %"
}

// machines are the nodes with components that can be configured to trace.
func (f *Facts) machines() []Node {
	is := f.cluster()
	if is == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(is.Nodes.Value), func(n Node) bool {
		return n.Provider == Kwok || n.Serverless
	})
}

// silent are the nodes without spans from their kubelets. It is nil if spans do not name their
// hosts.
func (f *Facts) silent(s *Server) []string {
	var out []string
	heard := map[string]bool{}
	for _, h := range s.From.Received.Component(received.Kubelet).Hosts {
		heard[h.Name] = true
	}
	if len(heard) == 0 {
		return nil
	}
	for _, n := range f.machines() {
		if !heard[n.Name] {
			out = append(out, n.Name)
		}
	}
	return out
}

// checkRuntime reports on the container runtime's spans.
func checkRuntime(f *Facts) Check {
	o := source{
		name: "containerd", component: received.Containerd,
		lose:    "what the runtime does in each call: layers fetched and unpacked, network set up, tasks started",
		instead: "the kubelet's spans of its calls, as far as there are any, and Events",
	}
	var version string
	if is := f.cluster(); is != nil {
		if is.Nodes.Is() && len(f.machines()) == 0 {
			o.cannot = "no node has a runtime"
		}
		if m, ok := is.managed(); ok {
			o.may = m.name + ": " + m.runtime
			if m.kubeletLines == nil {
				o.cannot, o.may = o.may, ""
			}
		}
		runtimes := distinct(f.machines(), func(n Node) string { return n.Runtime })
		if len(runtimes) > 0 {
			var kind string
			kind, version, _ = strings.Cut(runtimes[0], "://")
			switch kind {
			case "containerd":
			case "cri-o":
				o.name, o.component = "CRI-O", "crio"
			default:
				return Check{
					Name: "runtime", Status: Unknown,
					Found: "doctor has no advice for the runtime " + runtimes[0],
				}
			}
		}
	}
	switch {
	case o.cannot != "":
	case o.name == "CRI-O":
		o.add = f.crioLines()
	default:
		o.add = f.containerdLines(version)
	}
	if s := f.server(); s != nil {
		o.rate, o.things = s.From.Received.Coverage.Calls, "calls of the kubelet"
		if o.rate.Of == 0 && o.name == "containerd" {
			o.rate, o.things = s.From.Received.Coverage.Sandboxes, "Pods that were bound"
		}
	}
	return checkSource(f, o)
}
