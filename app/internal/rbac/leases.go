// SPDX-License-Identifier: Apache-2.0

package rbac

import "github.com/kube-lifeline/lifeline/app/internal/config"

// leaseRules are the rules for the servers' shared Leases, or none.
func leaseRules(c config.ReplicasConfiguration) []rule {
	leases := func(why string, names []string, verbs ...string) rule {
		return rule{why: why, groups: []string{leasesGroup}, resources: []string{"leases"}, names: names, verbs: verbs}
	}
	switch c.Mode {
	case config.ModeStandby:
		return []rule{
			leases("RBAC cannot limit the making of Leases to names.", nil, "create"),
			leases("One Lease says who leads, the other what has been sent.", []string{c.Name, c.Name + "-delivered"},
				"get", "update"),
		}
	case config.ModeShards:
		return []rule{
			leases("Every server has a Lease of its own, named by its identity, which RBAC cannot limit it to. In a "+
				"namespace of its own this touches no other.",
				nil, "get", "list", "create", "update", "delete"),
		}
	}
	return nil
}
