// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	"strings"
	"sync"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// custom is an object of another project as its controllers write it. They do not run here.
type custom struct {
	kind, group, version string
	// spec and status are in flow style; status is JSON.
	spec, status string
}

// defined are the custom kinds of the cluster, by name.
var defined struct {
	sync.Mutex
	names map[string]bool
}

// define makes the custom kind of c if there is none. Several fixtures may have the same kind.
func (p *play) define(c custom) {
	p.t.Helper()
	defined.Lock()
	defer defined.Unlock()
	name := strings.ToLower(c.kind) + "s." + c.group
	if defined.names[name] {
		return
	}
	p.apply(harness.CustomKindOf(c.kind, c.group, c.version))
	p.kubectl("wait", "--for=condition=Established", "crd/"+name, "--timeout=60s")
	if defined.names == nil {
		defined.names = map[string]bool{}
	}
	defined.names[name] = true
}

// of is the fixture of a custom object web with that status.
func of(name, category, blamed string, code int, c custom) fixture {
	resource := strings.ToLower(c.kind) + "s." + c.group + "/web"
	return fixture{name, category, blamed, resource, "", func(p *play) {
		p.define(c)
		p.apply("apiVersion: " + c.group + "/" + c.version + "\nkind: " + c.kind + "\nmetadata: {name: web}\nspec: " +
			c.spec + "\n")
		p.kubectl("patch", resource, "--subresource=status", "--type=merge", "-p", `{"status":`+c.status+`}`)
	}, code}
}

// kustomization is the fixture of a Kustomization of Flux that is not ready, with that reason and message.
func kustomization(name, blamed string, code int, reason, message string) fixture {
	return of(name, "flux", blamed, code, custom{
		"Kustomization", "kustomize.toolkit.fluxcd.io", "v1", "{interval: 1m, path: ./, prune: true}",
		conditions([4]string{"Ready", "False", reason, message}),
	})
}

// conditions is a status with those conditions, each as type, status, reason and message.
func conditions(all ...[4]string) string {
	var texts []string
	for _, c := range all {
		texts = append(texts, `{"type":"`+c[0]+`","status":"`+c[1]+`","reason":"`+c[2]+`","message":"`+
			strings.ReplaceAll(c[3], `"`, `\"`)+`","lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":1}`)
	}
	return `{"observedGeneration":1,"conditions":[` + strings.Join(texts, ",") + `]}`
}

const (
	groupGateway = "gateway.networking.k8s.io"
	groupACME    = "acme.cert-manager.io"
	groupCerts   = "cert-manager.io"
)

// projects are the fixtures of other projects' kinds.
var projects = []fixture{
	of("a Gateway without a controller", "not_accepted", "is not accepted: Waiting for controller", stuck, custom{
		"Gateway", groupGateway, "v1", "{gatewayClassName: none, listeners: [{name: http, port: 80, protocol: HTTP}]}",
		conditions(
			[4]string{"Accepted", "Unknown", "Pending", "Waiting for controller"},
			[4]string{"Programmed", "Unknown", "Pending", "Waiting for controller"},
		),
	}),
	of("a Gateway without an address", "not_programmed", "No addresses have been assigned", stuck, custom{
		"Gateway", groupGateway, "v1", "{gatewayClassName: one, listeners: [{name: http, port: 80, protocol: HTTP}]}",
		conditions(
			[4]string{"Accepted", "True", "Accepted", "The Gateway has been scheduled"},
			[4]string{"Programmed", "False", "AddressNotAssigned", "No addresses have been assigned to the Gateway"},
		),
	}),
	of("a route without its backend", "reference_missing", "references that are not resolved", stuck, custom{
		"HTTPRoute",
		groupGateway,
		"v1",
		"{parentRefs: [{name: web}], rules: [{backendRefs: [{name: none, port: 80}]}]}",
		`{"parents":[{"parentRef":{"name":"web"},"controllerName":"example.com/gateway","conditions":[` +
			`{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":` +
			`"2026-01-02T03:04:05Z","observedGeneration":1},{"type":"ResolvedRefs","status":"False","reason":` +
			`"BackendNotFound","message":"services \"none\" not found","lastTransitionTime":"2026-01-02T03:04:05Z",` +
			`"observedGeneration":1}]}]}`,
	}),
	of("an Application that is degraded", "argo_cd", "Application web is degraded", stuck, custom{
		"Application", "argoproj.io", "v1alpha1", "{project: default}", `{"health":{"status":"Degraded"},` +
			`"sync":{"status":"Synced","revision":"0b3c"},"operationState":{"phase":"Succeeded",` +
			`"operation":{"sync":{}},"syncResult":{"revision":"0b3c"}},` +
			`"resources":[{"kind":"Deployment","name":"web","health":{"status":"Degraded",` +
			`"message":"Deployment \"web\" exceeded its progress deadline"}}]}`,
	}),
	of("an Application that is out of sync", "argo_cd", "Application web is out of sync", stuck, custom{
		"Application", "argoproj.io", "v1alpha1", "{project: default}", `{"health":{"status":"Healthy"},` +
			`"sync":{"status":"OutOfSync","revision":"0b3c"},"operationState":{"phase":"Succeeded",` +
			`"operation":{"sync":{}},"syncResult":{"revision":"0b3c"}}}`,
	}),
	of("an Application that cannot be rendered", "argo_cd", "reports ComparisonError", stuck, custom{
		"Application", "argoproj.io", "v1alpha1", "{project: default}", `{"health":{"status":"Healthy"},` +
			`"sync":{"status":"Unknown"},"conditions":[{"type":"ComparisonError","message":"Failed to load target ` +
			`state:` +
			` failed to generate manifest for source 1 of 1","lastTransitionTime":"2026-01-02T03:04:05Z"}]}`,
	}),
	of("an Application whose sync fails", "argo_cd", "Application web failed", failed, custom{
		"Application", "argoproj.io", "v1alpha1", "{project: default}", `{"health":{"status":"Healthy"},` +
			`"sync":{"status":"OutOfSync","revision":"0b3c"},"operationState":{"phase":"Failed",` +
			`"message":"one or more objects failed to apply","operation":{"sync":{"revision":"0b3c"}},` +
			`"syncResult":{"revision":"0b3c"}}}`,
	}),
	kustomization("a Kustomization that waits for another one", "dependency 'shop/base' is not ready", stuck,
		"DependencyNotReady", "dependency 'shop/base' is not ready"),
	of("a HelmRelease that is not installed", "flux", "Helm install failed", failed, custom{
		"HelmRelease", "helm.toolkit.fluxcd.io", "v2", "{interval: 1m}",
		conditions([4]string{
			"Ready", "False", "InstallFailed",
			"Helm install failed for release shop/web with chart web@1.0.0: context deadline exceeded",
		}),
	}),
	of("an Issuer without an account", "cert_manager", "Failed to register ACME account", stuck, custom{
		"Issuer", groupCerts, "v1", "{acme: {server: \"https://acme.example\"}}",
		conditions([4]string{
			"Ready", "False", "ErrRegisterACMEAccount",
			"Failed to register ACME account: context deadline exceeded",
		}),
	}),
	of("a certificate without its Issuer", "cert_manager", `Referenced "Issuer" not found`, stuck, custom{
		"CertificateRequest", groupCerts, "v1", "{issuerRef: {name: none}}",
		conditions([4]string{
			"Ready", "False", "Pending", `Referenced "Issuer" not found: issuer.cert-manager.io "none" not found`,
		}),
	}),
	of("an order that an ACME server refuses", "cert_manager", "Order web failed", failed, custom{
		"Order", groupACME, "v1", "{dnsNames: [shop.example]}",
		`{"state":"invalid","reason":"Failed to create Order: 400 rejectedIdentifier"}`,
	}),
	of("a challenge without an answer", "cert_manager", "wrong status code '404', expected '200'", stuck, custom{
		"Challenge", groupACME, "v1", "{dnsName: shop.example, type: HTTP-01}",
		`{"state":"pending","processing":true,"presented":true,` +
			`"reason":"Waiting for HTTP-01 challenge propagation: wrong status code '404', expected '200'"}`,
	}),
	of("a resource of a cloud without its credentials", "crossplane", "connect failed", stuck, custom{
		"Bucket", "s3.aws.upbound.io", "v1beta1", "{forProvider: {region: eu-central-1}}",
		conditions(
			[4]string{
				"Synced",
				"False",
				"ReconcileError",
				"connect failed: cannot get referenced ProviderConfig: providerconfigs.aws.upbound.io \"default\" " +
					"not found",
			},
			[4]string{"Ready", "False", "Creating", ""},
		),
	}),
	of("a Job without quota in its queue", "kueue", "insufficient unused quota for cpu", stuck, custom{
		"Workload", "kueue.x-k8s.io", "v1beta1", "{queueName: team}",
		conditions([4]string{
			"QuotaReserved", "False", "Pending", "couldn't assign flavors to pod set main: " +
				"insufficient unused quota for cpu in flavor default, 2 more needed",
		}),
	}),
	of("a task that fails", "tekton", "TaskRun web failed", failed, custom{
		"TaskRun", "tekton.dev", "v1", "{taskRef: {name: build}}",
		conditions([4]string{"Succeeded", "False", "TaskRunTimeout", `TaskRun "web" failed to finish within "1h0m0s"`}),
	}),
	of("a machine without infrastructure", "cluster_api", "Machine web is not ready", stuck, custom{
		"Machine", "cluster.x-k8s.io", "v1beta2", "{clusterName: one}",
		conditions([4]string{
			"Available", "False", "NotAvailable", "* InfrastructureReady: timed out waiting for the condition",
		}),
	}),
	of("a route that a Gateway refuses", "not_accepted", "There are no hostname intersections", stuck, custom{
		"HTTPRoute", groupGateway, "v1", "{parentRefs: [{name: web}], hostnames: [other.example]}",
		`{"parents":[{"parentRef":{"name":"web"},"controllerName":"example.com/gateway","conditions":[` +
			`{"type":"Accepted","status":"False","reason":"NoMatchingListenerHostname","message":"There are no ` +
			`hostname intersections between the HTTPRoute and this parent ref's Listener(s).",` +
			`"lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":1}]}]}`,
	}),
	of("a route to another Namespace without a grant", "reference_missing", "RefNotPermitted", stuck, custom{
		"HTTPRoute",
		groupGateway,
		"v1",
		"{parentRefs: [{name: web}], rules: [{backendRefs: [{name: a, namespace: b}]}]}",
		`{"parents":[{"parentRef":{"name":"web"},"controllerName":"example.com/gateway","conditions":[` +
			`{"type":"Accepted","status":"True","reason":"Accepted","message":"","lastTransitionTime":` +
			`"2026-01-02T03:04:05Z","observedGeneration":1},{"type":"ResolvedRefs","status":"False","reason":` +
			`"RefNotPermitted","message":"","lastTransitionTime":"2026-01-02T03:04:05Z","observedGeneration":1}]}]}`,
	}),
	of("a Git repository without an answer", "flux", "unable to clone 'https://git.example'", failed, custom{
		"GitRepository", "source.toolkit.fluxcd.io", "v1", "{interval: 1m, url: \"https://git.example/app\"}",
		conditions([4]string{
			"Ready", "False", "GitOperationFailed",
			"failed to checkout and determine revision: unable to clone 'https://git.example/app': " +
				"context deadline exceeded",
		}),
	}),
	kustomization("a Kustomization that cannot be built", "kustomize build failed", failed,
		"BuildFailed", "kustomize build failed: accumulating resources"),
	kustomization("a Kustomization whose objects are not ready", "timeout waiting for", failed,
		"HealthCheckFailed",
		"timeout waiting for: [Deployment/shop/web status: 'InProgress']: context deadline exceeded"),
	of("a Certificate that has expired", "cert_manager", "Certificate expired on Thu, 01 Jan 2026", stuck, custom{
		"Certificate", groupCerts, "v1", "{secretName: web-tls, dnsNames: [shop.example], issuerRef: {name: one}}",
		conditions([4]string{"Ready", "False", "Expired", "Certificate expired on Thu, 01 Jan 2026 00:00:00 UTC"}),
	}),
	of("a control plane that is not there", "cluster_api", "Control plane not yet initialized", stuck, custom{
		"Cluster", "cluster.x-k8s.io", "v1beta2", "{controlPlaneRef: {name: web}}",
		conditions([4]string{
			"Available", "False", "NotAvailable", "* ControlPlaneAvailable: Control plane not yet initialized",
		}),
	}),
	of("a Job that waits for an admission check", "kueue", "The workload has not all checks ready", stuck, custom{
		"Workload", "kueue.x-k8s.io", "v1beta1", "{queueName: team}",
		conditions(
			[4]string{"QuotaReserved", "True", "QuotaReserved", "Quota reserved in ClusterQueue team"},
			[4]string{"Admitted", "False", "UnsatisfiedChecks", "The workload has not all checks ready"},
		),
	}),
	of("a snapshot that fails", "snapshot_failed", "cannot be taken", stuck, custom{
		"VolumeSnapshot",
		"snapshot.storage.k8s.io",
		"v1",
		"{source: {persistentVolumeClaimName: data}}",
		`{"readyToUse":false,"error":{"message":"Failed to create snapshot content with error timed out waiting ` +
			`for the condition"}}`,
	}),
}
