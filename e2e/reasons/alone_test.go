// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"strings"
)

// alone are the fixtures that change the node. They run one after the other, after all others.
var alone = []fixture{
	{"a cordoned node", "unschedulable_cordon", "unschedulable", "pod/web", "", func(p *play) {
		p.onNode([]string{"cordon"}, nil)
		p.apply(pod("IMAGE", "", ""))
		p.after([]string{"uncordon"}, nil)
	}, stuck},
	{"a taint", "unschedulable_taint", "untolerated taint", "pod/web", "", func(p *play) {
		p.onNode([]string{"taint", "node"}, []string{"example.com/keep=out:NoSchedule"})
		p.apply(pod("IMAGE", "", ""))
		p.after([]string{"taint", "node"}, []string{"example.com/keep-"})
	}, stuck},
	{
		"a kubelet that stops no container",
		"termination_overdue",
		"is still terminating after its grace period",
		"pod/web",
		pod("IMAGE", "", ""),
		func(p *play) {
			p.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=120s")
			p.pauseKubelet()
			p.kubectl("delete", "pod/web", "--wait=false")
		},
		stuck,
	},
	{"a resize that waits for another Pod", "resize_deferred", "waits for its resize", "pod/web", "", func(p *play) {
		most := p.most()
		large := pod("IMAGE", "resources: {requests: {cpu: "+most+"}}", "")
		p.apply(strings.Replace(large, "name: web", "name: large", 1))
		p.atEnd("delete", "pod/large", "pod/web", "-n", "NS")
		p.apply(pod("IMAGE", "resources: {requests: {cpu: 1m}}", ""))
		p.kubectl("wait", "--for=condition=Ready", "pod/large", "pod/web", "--timeout=120s")
		p.kubectl("patch", "pod/web", "--subresource=resize", "-p",
			`{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"`+most+`"}}}]}}`)
	}, stuck},
	{"a progress deadline without another reason", "progress_deadline", "exceeded its progress deadline",
		"deploy/web", "", func(p *play) {
			p.pauseKubelet()
			p.apply(deployment("IMAGE", "", "", "  progressDeadlineSeconds: 3\n"))
		}, failed},
	{"a node without a network", "network_failed", "the network of its node", "pod/web", "", func(p *play) {
		p.unplug()
		p.apply(pod("IMAGE", "", "nodeName: node-0"))
	}, stuck},
	{"a volume on another node", "volume_multi_attach", "Volume is already used by pod(s) web", "pod/second", "",
		func(p *play) {
			p.apply(disk + "---\n" + mounting("web", ""))
			p.attachment(`{"attached":true}`)
			p.loseNode()
			p.apply(mounting("second", ", nodeName: NS"))
		}, stuck},
	{"a Pod on a lost node", "node_lost", "is on node NS, whose kubelet does not answer", "deploy/web", "",
		func(p *play) {
			p.loseNode()
			p.apply(deployment("IMAGE", "", "nodeName: NS", ""))
		}, stuck},
	{"a node without a kubelet", "node_not_ready", "is not ready", "node/NS", "", (*play).loseNode, stuck},
	// A Namespace in deletion waits for each API.
	{
		"an aggregated API without a backend",
		"api_service_unavailable",
		"is not available",
		"apiservice/v1.NS.example.com",
		"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.NS.example.com}\n" +
			"spec: {group: NS.example.com, version: v1, groupPriorityMinimum: 1, versionPriority: 1, " +
			"insecureSkipTLSVerify: true,\n" +
			"  service: {namespace: NS, name: none}}\n",
		nil,
		stuck,
	},
	// The last one: all Pods go with the Node.
	{"a cluster without a node", "unschedulable_no_nodes", "no nodes available to schedule pods", "pod/web", "",
		func(p *play) {
			p.removeNode()
			p.apply(pod("IMAGE", "", ""))
		}, stuck},
}
