// SPDX-License-Identifier: Apache-2.0

package addons

import (
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
	"github.com/kube-lifeline/lifeline/lab"
)

// available waits until the MachineDeployment has so many available Machines, and no others.
func (s *stage) available(n int) {
	s.t.Helper()
	addon.Available(s.t, s.Bench, shop, n)
	s.settle()
}

// TestClusterAPI records a cluster: created, scaled, with a lost machine, upgraded and deleted. The
// controllers of the core are real. The provider is a part of the test.
func TestClusterAPI(t *testing.T) {
	opts := lab.Options{AddOns: []lab.AddOn{lab.ClusterAPI}, Users: []lab.User{{Name: addon.Provider}}}
	traces := record(t, "cluster-api.kwok", opts, func(s *stage) {
		addon.InstallProvider(t, s.Bench)
		defer addon.Provide(t, s.Bench, shop)()
		s.apply(userA, addon.Credentials(t, s.Bench))
		s.apply(userA, addon.Cluster(t, s.Bench))
		s.await("condition=ControlPlaneInitialized", "cluster/demo")
		s.settle()
		s.apply(userA, addon.Workers)
		s.available(1)

		s.as(userB, "patch", "machinedeployment/workers", "--type=merge", "-p", `{"spec": {"replicas": 2}}`)
		s.available(2)
		machines := s.MustKubectl(t, "", "-n", shop, "get", "machines", "-o", "jsonpath={.items[*].metadata.name}")
		s.as(userC, "delete", "machine/"+strings.Fields(machines)[0])
		s.available(2)
		s.as(userA, "patch", "machinedeployment/workers", "--type=merge", "-p",
			`{"spec": {"template": {"spec": {"version": "v1.36.4"}}}}`)
		s.available(2)
		s.as(userB, "delete", "cluster/demo")
		s.settle()
	})
	expect(t, traces, map[string]int{
		// A creation, a scaling and an upgrade.
		"MachineDeployment workers <":                      3,
		"MachineSet workers-* < MachineDeployment workers": 6,
		"Machine workers-* < MachineSet workers-*":         8,
		"LabMachine workers-* < MachineSet workers-*":      4,
		"Machine workers-* <":                              2, // the deletion by a person, and the replacement
		"LabMachine workers-* < Machine workers-*":         6, // the replacement, and five deletions
		"MachineDeployment workers < Cluster demo":         1,
	})
}
