// SPDX-License-Identifier: Apache-2.0

package syntheticapi

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var nodeWidths = map[textField]int{
	name: nodeWidth, uid: uidWidth, version: versionWidth, nodeIP: ipWidth,
}

// imagesPerNode is the number of images in the status of a Node.
const imagesPerNode = 20

// nodeTemplate returns the template of a Node with its heartbeat at the time ready.
func nodeTemplate() *template {
	text := func(f textField) string { return placeholder(f, nodeWidths[f]) }
	of := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("131072Mi"),
		corev1.ResourcePods: resource.MustParse("110"), corev1.ResourceEphemeralStorage: resource.MustParse("200Gi"),
	}
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: text(name), UID: types.UID(text(uid)), ResourceVersion: text(version),
			CreationTimestamp: metaTime(created),
			Labels: map[string]string{
				corev1.LabelHostname: text(name), corev1.LabelArchStable: "amd64", corev1.LabelOSStable: "linux",
				corev1.LabelTopologyRegion: "eu-west-1", corev1.LabelTopologyZone: "eu-west-1a",
				corev1.LabelInstanceTypeStable: "m7i.8xlarge",
			},
			Annotations: map[string]string{"node.alpha.kubernetes.io/ttl": "0"},
		},
		Spec: corev1.NodeSpec{
			PodCIDR: "10.0.0.0/24", PodCIDRs: []string{"10.0.0.0/24"}, ProviderID: "aws:///eu-west-1a/" + text(name),
		},
		Status: corev1.NodeStatus{
			Capacity: of, Allocatable: of,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: text(nodeIP)}, {Type: corev1.NodeHostName, Address: text(name)},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: 10250}},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID: idSample[:32], SystemUUID: idSample[:32], BootID: idSample[:32], KernelVersion: "6.12.8",
				OSImage: "Debian GNU/Linux 13 (trixie)", ContainerRuntimeVersion: "containerd://2.1.4",
				KubeletVersion: "v1.36.4", OperatingSystem: "linux", Architecture: "amd64",
			},
		},
	}
	for i := range imagesPerNode {
		n.Status.Images = append(n.Status.Images, corev1.ContainerImage{
			Names: []string{
				fmt.Sprintf("registry.example.com/shop/image-%d@sha256:%s", i, idSample),
				fmt.Sprintf("registry.example.com/shop/image-%d:v1.%d", i, i),
			},
			SizeBytes: 1 << 27,
		})
	}
	for _, c := range []struct {
		typ    corev1.NodeConditionType
		status corev1.ConditionStatus
		reason string
	}{
		{corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"},
		{corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"},
		{corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"},
		{corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"},
	} {
		n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
			Type: c.typ, Status: c.status, Reason: c.reason, Message: "kubelet reports " + c.reason,
			LastHeartbeatTime: metaTime(ready), LastTransitionTime: metaTime(created),
		})
	}
	n.ManagedFields = []metav1.ManagedFieldsEntry{
		owned("kube-controller-manager", "", metaTime(created), n, "spec.podCIDR", "spec.podCIDRs"),
		owned("kubelet", "", metaTime(created), n, "metadata.labels", "spec.providerID"),
		owned("kubelet", "status", metaTime(ready), n, "status"),
	}
	return newTemplate(n, nodeWidths)
}
