// SPDX-License-Identifier: Apache-2.0

package rbac

import "github.com/kube-lifeline/lifeline/app/internal/config"

// leaseRules are the rules for the servers' shared Leases, or none.
func leaseRules(c config.ReplicasConfiguration) []rule {
	if c.Mode == config.ModeSingle {
		return nil
	}
	leases := func(why string, names []string, verbs ...string) rule {
		return rule{why: why, groups: []string{leasesGroup}, resources: []string{"leases"}, names: names, verbs: verbs}
	}
	return []rule{
		leases("RBAC cannot limit the making of Leases to names.", nil, "create"),
		leases("One Lease says who leads, the other what has been sent.", []string{c.Name, c.Name + "-delivered"},
			"get", "update"),
	}
}
