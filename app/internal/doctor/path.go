// SPDX-License-Identifier: Apache-2.0

package doctor

import "strings"

// checkPath reports whether the control plane reaches the webhook. Without a probe there is no check.
func checkPath(f *Facts) Check {
	is := f.cluster()
	if is == nil || is.Path == nil {
		return none
	}
	c := Check{Name: "webhook's path", Status: OK}
	switch path := is.Path; {
	case !path.Is():
		c.Status, c.Found = Unknown, path.Unknown
	case path.Value.Reached:
		c.Found = "an API server has reached " + path.Value.Where
	default:
		c.Status, c.Lose = Missing, loseWebhook
		c.Found = "the API server does not reach " + path.Value.Where + ": " + path.Value.Said
		c.Add = []Lines{pathLines(path.Value)}
	}
	return c
}

// pathLines returns the next step for a reason of the API server.
func pathLines(path Path) Lines {
	namespace := namespaceOf(path.Where)
	if strings.Contains(path.Said, "no endpoints available") || strings.Contains(path.Said, "not found") {
		return Lines{
			Where: "a shell; the Service needs a Pod that answers the webhook (chart: webhook.enabled=true)",
			Text:  "kubectl -n " + namespace + " get services,endpointslices,pods\n",
		}
	}
	return Lines{
		Where: "the network between control plane and Pods. On a private GKE cluster, a firewall rule from the " +
			"control plane's range to the nodes. On EKS with an overlay network, Pods of the VPC CNI or on the host " +
			"network. Everywhere, NetworkPolicies (chart: webhook.from)",
		Text: "gcloud compute firewall-rules create lifeline-webhook --network NETWORK " +
			"--source-ranges CONTROL_PLANE_RANGE --target-tags NODE_TAG --allow tcp:9443\n",
	}
}
