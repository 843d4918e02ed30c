// SPDX-License-Identifier: Apache-2.0

package accuracy

import (
	"fmt"

	"github.com/kube-lifeline/lifeline/e2e/internal/addon"
)

// issued waits for a revision of the Certificate web.
func (s *stage) issued(revision int) {
	s.t.Helper()
	s.await(fmt.Sprintf("jsonpath={.status.revision}=%d", revision), "certificate/web")
	s.await("condition=Ready", "certificate/web")
	s.settle()
}

// selfSigned is the scenery of an Issuer.
func selfSigned(s *stage) {
	s.apply(userA, addon.SelfSigned("ca"))
	s.await("condition=Ready", "issuer/ca")
}

// available waits until the MachineDeployment has n available Machines.
func (s *stage) available(n int) {
	s.t.Helper()
	addon.Available(s.t, s.Bench, s.ns, n)
	s.settle()
}

// credentials is the scenery of the workload cluster.
func (s *stage) credentials() {
	s.t.Helper()
	s.given(userA, addon.Credentials(s.t, s.Bench), "apply", "-f", "-")
}

// cluster creates a Cluster of Cluster API.
func (s *stage) cluster(user string) {
	s.t.Helper()
	s.apply(user, addon.Cluster(s.t, s.Bench))
	s.await("condition=ControlPlaneInitialized", "cluster/demo")
	s.settle()
}

// machine is the scenery of a Cluster with one Machine.
func (s *stage) machine() {
	s.t.Helper()
	s.credentials()
	s.t.Cleanup(addon.Provide(s.t, s.Bench, s.ns))
	s.cluster(userA)
	s.apply(userA, addon.Workers)
	s.available(1)
}

// controllers are changes of objects that controllers of add-ons reconcile.
var controllers = []scenario{
	{
		name: "An Issuer and a Certificate, which is changed",
		play: func(s *stage) {
			selfSigned(s)
			s.apply(userB, addon.Certificate("web", "ca"))
			s.issued(1)
			s.as(userC, "patch", "certificate/web", "--type=merge", "-p",
				`{"spec":{"dnsNames":["web.shop.svc","web"]}}`)
			s.issued(2)
		},
		want: []string{
			"user-a create Issuer ca converged",
			"user-b create Certificate web converged: create CertificateRequest",
			"user-c update Certificate web converged: create CertificateRequest, delete CertificateRequest",
		},
	},
	{
		// The loss of the Secret is in no trace, because no server sees Secrets.
		name: "A Certificate is renewed, and issued again after a loss",
		scenery: func(s *stage) {
			selfSigned(s)
			s.apply(userA, addon.Certificate("web", "ca"))
			s.issued(1)
		},
		play: func(s *stage) {
			s.as(userB, "patch", "certificate/web", "--subresource=status", "--type=json", "-p", addon.Renewal())
			s.issued(2)
			s.as(userC, "delete", "secret/web-tls")
			s.issued(3)
			s.as(userA, "delete", "certificate/web")
		},
		want: []string{
			"user-b update Certificate web converged: create CertificateRequest, delete CertificateRequest",
			"cert-manager update Certificate web converged: create CertificateRequest, delete CertificateRequest",
			"user-a delete Certificate web deleted: delete CertificateRequest",
		},
	},
	{
		name:    "A Cluster and its workers are created",
		scenery: (*stage).credentials,
		play: func(s *stage) {
			defer addon.Provide(s.t, s.Bench, s.ns)()
			s.cluster(userA)
			s.apply(userB, addon.Workers)
			s.available(1)
		},
		want: []string{
			"user-a create LabCluster demo converged",
			"user-a create LabControlPlane demo converged",
			"user-a create Cluster demo converged",
			"user-b create LabMachineTemplate workers converged",
			"user-b create LabConfigTemplate workers converged",
			"user-b create MachineDeployment workers converged: create LabConfig, create LabMachine, create Machine, " +
				"create MachineSet",
		},
	},
	{
		name:    "A MachineDeployment is scaled and its Cluster deleted",
		scenery: (*stage).machine,
		play: func(s *stage) {
			s.as(userB, "patch", "machinedeployment/workers", "--type=merge", "-p", `{"spec": {"replicas": 2}}`)
			s.available(2)
			s.as(userC, "delete", "cluster/demo")
		},
		want: []string{
			"user-b update MachineDeployment workers converged: create LabConfig, create LabMachine, create Machine, " +
				"update MachineSet",
			"user-c delete Cluster demo deleted: delete LabCluster, delete LabConfig ×2, delete LabConfigTemplate, " +
				"delete LabControlPlane, delete LabMachine ×2, delete LabMachineTemplate, delete Machine ×2, " +
				"delete MachineDeployment, delete MachineSet",
		},
	},
	{
		name:    "A Machine is deleted and replaced",
		scenery: (*stage).machine,
		play: func(s *stage) {
			s.as(userC, "delete", "machines", "--all")
			s.available(1)
		},
		want: []string{
			"user-c delete Machine workers-*-* deleted: delete LabConfig, delete LabMachine",
			"cluster-api create Machine workers-*-* converged: create LabConfig, create LabMachine",
		},
	},
}
