// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/lab"
)

// onNode runs kubectl with the name of the cluster's node between the arguments.
func (p *play) onNode(before, after []string) {
	p.t.Helper()
	ctx := context.WithoutCancel(p.t.Context())
	node, err := bench.Cluster.RunKubectl(ctx, nil, "get", "node", "-o", "jsonpath={.items[0].metadata.name}")
	if err == nil {
		_, err = bench.Cluster.RunKubectl(ctx, nil, slices.Concat(before, []string{node}, after)...)
	}
	if err != nil {
		p.t.Error(err)
	}
}

// after runs onNode at the end of the fixture.
func (p *play) after(before, after []string) {
	p.t.Cleanup(func() { p.onNode(before, after) })
}

// pauseKubelet stops the kubelet until the end of the fixture.
func (p *play) pauseKubelet() {
	p.t.Helper()
	if err := bench.Cluster.Pause(lab.Kubelet); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := bench.Cluster.Resume(lab.Kubelet); err != nil {
			p.t.Error(err)
		}
		p.awaitNode()
	})
}

// unplug takes the node's network configuration away until the end of the fixture.
func (p *play) unplug() {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(bench.Cluster.Dir(), "node-0", "cni", "*.conflist"))
	if err != nil || len(files) != 1 {
		p.t.Fatalf("got network configurations %q, %v, want one", files, err)
	}
	if err := os.Rename(files[0], files[0]+".off"); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := os.Rename(files[0]+".off", files[0]); err != nil {
			p.t.Error(err)
		}
		p.awaitNode()
	})
}

// awaitNode waits until the cluster's node is ready.
func (p *play) awaitNode() {
	p.t.Helper()
	_, err := bench.Cluster.RunKubectl(context.WithoutCancel(p.t.Context()), nil,
		"wait", "--for=condition=Ready", "node/node-0", "--timeout=120s")
	if err != nil {
		p.t.Error(err)
	}
}

// loseNode adds a Node without a kubelet until the end of the fixture.
func (p *play) loseNode() {
	p.t.Helper()
	p.apply(lostNode)
	p.atEnd("delete", "node", "NS")
}

// removeNode deletes the cluster's Node. At the end of the fixture, its kubelet registers it again.
func (p *play) removeNode() {
	p.t.Helper()
	p.kubectl("delete", "node/node-0")
	p.t.Cleanup(func() {
		if err := bench.Cluster.Restart(context.WithoutCancel(p.t.Context()), lab.Kubelet); err != nil {
			p.t.Error(err)
		}
		p.awaitNode()
	})
}

// atEnd runs kubectl at the end of the fixture.
func (p *play) atEnd(args ...string) {
	for i := range args {
		args[i] = p.fill(args[i])
	}
	p.t.Cleanup(func() {
		if _, err := bench.Cluster.RunKubectl(context.WithoutCancel(p.t.Context()), nil, args...); err != nil {
			p.t.Error(err)
		}
	})
}

// most is more than half of the node's CPUs.
func (p *play) most() string {
	p.t.Helper()
	cpus, err := resource.ParseQuantity(bench.MustKubectl(p.t, "", "get", "node/node-0", "-o",
		"jsonpath={.status.allocatable.cpu}"))
	if err != nil {
		p.t.Fatalf("unexpected number of CPUs: %v", err)
	}
	return resource.NewMilliQuantity(cpus.MilliValue()*6/10, resource.DecimalSI).String()
}

// uid is the UID of an object of the namespace.
func (p *play) uid(object string) string {
	p.t.Helper()
	return bench.MustKubectl(p.t, "", "-n", p.ns, "get", object, "-o", "jsonpath={.metadata.uid}")
}

// attachment sets the status of the attachment of the namespace's volume, as an attacher does.
func (p *play) attachment(status string) {
	p.t.Helper()
	name := ""
	harness.Eventually(p.t, "an attachment of volume "+p.ns, func() bool {
		out, err := bench.Cluster.RunKubectl(p.t.Context(), nil, "get", "volumeattachment", "-o",
			`jsonpath={.items[?(@.spec.source.persistentVolumeName=="`+p.ns+`")].metadata.name}`)
		name = out
		return err == nil && name != ""
	})
	p.kubectl("patch", "volumeattachment", name, "--subresource=status", "--type=merge", "-p", `{"status":`+status+`}`)
}

// signingRequest is the manifest of a request for a certificate of signer example.com/NS.
func (p *play) signingRequest() string {
	p.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		p.t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		p.t.Fatal(err)
	}
	request := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	return p.fill("apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {name: NS}\n"+
		"spec: {signerName: example.com/NS, usages: [client auth], request: ") +
		base64.StdEncoding.EncodeToString(request) + "}\n"
}

// awaitAddress adds an Ingress with an address, and Ingress web of the same class without one.
func (p *play) awaitAddress() {
	p.t.Helper()
	const other = "metadata: {name: other, annotations: {kubernetes.io/ingress.class: NS}}"
	p.apply(strings.Replace(ingress("", "web"), "metadata: {name: web}", other, 1))
	p.kubectl("patch", "ingress/other", "--subresource=status", "--type=merge", "-p",
		`{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.8"}]}}}`)
	p.apply(strings.Replace(strings.Replace(ingress("", "web"), "metadata: {name: web}", other, 1), "other", "web", 1))
}

// awaitRefusal waits until the API server refuses all Pods of the namespace. It learns of a policy or a
// webhook after a moment.
func (p *play) awaitRefusal() {
	p.t.Helper()
	harness.Eventually(p.t, "a refusal in namespace "+p.ns, func() bool {
		_, err := bench.Cluster.RunKubectl(p.t.Context(), strings.NewReader(p.fill(pod("IMAGE", "", ""))),
			"-n", p.ns, "create", "--dry-run=server", "-f", "-")
		return err != nil
	})
}

// settle waits until the server has ended the changes so far. A refused write is a part of an open change.
func (p *play) settle() {
	p.t.Helper()
	harness.Eventually(p.t, "the end of the changes of "+p.fill(p.object), func() bool {
		r := bench.Do(p.t, harness.Call{
			Args: []string{"ls", p.fill(p.object), "-n", p.ns, "-o", "json"},
			Env:  []string{"LIFELINE_SERVER=http://" + p.server.APIAddress()},
		})
		var doc struct{ Traces []struct{ Open bool } }
		if r.Code != 0 || json.Unmarshal([]byte(r.Stdout), &doc) != nil || len(doc.Traces) == 0 {
			return false
		}
		return !slices.ContainsFunc(doc.Traces, func(t struct{ Open bool }) bool { return t.Open })
	})
}

// apply applies a manifest in the namespace.
func (p *play) apply(manifest string) {
	p.t.Helper()
	p.applyFilled(p.fill(manifest))
}

// applyFilled applies a manifest without placeholders. A certificate may look as if it had one.
func (p *play) applyFilled(manifest string) {
	p.t.Helper()
	bench.MustKubectl(p.t, manifest, "-n", p.ns, "apply", "-f", "-")
}
