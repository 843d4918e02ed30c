// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/lab/internal/build"
	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// An AddOn is something that many clusters have and that is not part of
// Kubernetes. A cluster has those of Options.AddOns.
type AddOn string

const (
	// Flux is Flux's source-controller and kustomize-controller, and a Git
	// repository: see GitURL and Commit. It needs git.
	Flux AddOn = "flux"
	// Helm is the program helm: see RunHelmAs. Nothing of it runs in the cluster.
	Helm AddOn = "helm"
	// CertManager is the controllers of cert-manager for self-signed and CA
	// issuers. It has no webhook, so resources need all fields of their kinds.
	CertManager AddOn = "cert-manager"
	// Metrics is metrics-server: kubectl top, and the metrics of a
	// HorizontalPodAutoscaler. It needs NodesReal.
	Metrics AddOn = "metrics-server"
	// ArgoCD is Argo CD's application controller with its repository server, and a Git repository:
	// see GitURL and Commit. It needs git. It has no API server: the field operation of an
	// Application requests a sync.
	ArgoCD AddOn = "argo-cd"
	// ClusterAPI is the core controllers of Cluster API, without their webhooks and
	// without a provider. So resources need all fields of their kinds.
	ClusterAPI AddOn = "cluster-api"
	// SampleAPI is an aggregated API with a separate storage: the kinds Flunder and Fischer of
	// Kubernetes' sample API server.
	SampleAPI AddOn = "sample-apiserver"
)

// An addOnSpec describes an add-on.
type addOnSpec struct {
	// components are the controllers, each with the name of its program. program is a further one.
	components []Component
	program    string
	// check returns what the machine lacks. Nil means that it needs nothing.
	check func() error
	// namespace is that of the controllers' service accounts.
	namespace string
	// prepare, if not nil, runs before the components start.
	prepare func(ctx context.Context, c *Cluster) error
}

// AddOns returns all add-ons, sorted.
func AddOns() []AddOn { return slices.Sorted(maps.Keys(addOnSpecs())) }

// addOnSpecs is a function because the add-ons' functions refer to it.
func addOnSpecs() map[AddOn]addOnSpec {
	return map[AddOn]addOnSpec{
		Flux:        flux,
		Helm:        {program: "helm"},
		CertManager: {components: []Component{CertController}, namespace: "cert-manager"},
		Metrics:     {components: []Component{MetricsServer}, namespace: "kube-system"},
		ArgoCD:      argoCD,
		ClusterAPI:  clusterAPI,
		SampleAPI:   sampleAPI,
	}
}

// has reports whether the cluster has an add-on.
func (o Options) has(a AddOn) bool { return slices.Contains(o.AddOns, a) }

// routesToPods reports whether the API server finds aggregated APIs by the Pods of their Services. It then knows no
// Service of type ExternalName, which an API of a process beside the cluster needs.
func (o Options) routesToPods() bool {
	return o.Nodes == NodesReal && !o.has(Metrics) && !o.has(SampleAPI)
}

// addOns returns the add-ons of the options in a fixed order.
func (o Options) addOns() []addOnSpec {
	var specs []addOnSpec
	for _, a := range AddOns() {
		if o.has(a) {
			specs = append(specs, addOnSpecs()[a])
		}
	}
	return specs
}

// An addOnComponent is a controller of an add-on.
type addOnComponent struct {
	// args returns the arguments for the ports. The controller serves its
	// health on the first one.
	args func(c *Cluster, ports []int) ([]string, error)
	// ports is the number of ports that it listens on.
	ports int
	env   func(c *Cluster) []string
	// scheme and ready make a URL of the health port that answers 200. An empty
	// scheme means http.
	scheme, ready string
	// register, if not nil, runs after each start, when the controller is ready.
	register func(ctx context.Context, c *Cluster, port int) error
}

// addOnComponents are the controllers of all add-ons.
var addOnComponents = map[Component]addOnComponent{
	SourceController:    sourceController,
	KustomizeController: kustomizeController,
	CertController: {
		ports: 1,
		ready: "/healthz",
		args: func(_ *Cluster, ports []int) ([]string, error) {
			return []string{"--health-addr=" + loopback(ports[0])}, nil
		},
	},
	MetricsServer:     metricsServer,
	ArgoController:    argoController,
	ClusterAPIManager: clusterAPIManager,
	SampleAPIServer:   sampleAPIServer,
}

// startAddOns installs the add-ons and starts their controllers.
func (c *Cluster) startAddOns(ctx context.Context) error {
	for _, spec := range c.opts.addOns() {
		if err := c.install(ctx, spec); err != nil {
			return err
		}
		if spec.prepare != nil {
			if err := spec.prepare(ctx, c); err != nil {
				return err
			}
		}
		for _, component := range spec.components {
			if err := c.launch(component); err != nil {
				return err
			}
		}
		for _, component := range spec.components {
			if err := c.ensure(ctx, component); err != nil {
				return err
			}
		}
	}
	return nil
}

// install creates what the controllers of an add-on need in the cluster: their
// resources and their permissions.
func (c *Cluster) install(ctx context.Context, spec addOnSpec) error {
	for _, component := range spec.components {
		dir := build.CRDs(c.bin[string(component)])
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue
		}
		apply := []string{"apply", "--server-side", "--filename=" + dir}
		if _, err := c.RunKubectl(ctx, nil, apply...); err != nil {
			return err
		}
		if err := c.established(ctx, dir); err != nil {
			return err
		}
	}
	if spec.namespace == "" {
		return nil
	}
	_, err := c.RunKubectl(ctx, strings.NewReader(accountsOf(spec)), "apply", "--server-side", "--filename=-")
	return err
}

// established waits for the CustomResourceDefinitions in a directory. kubectl wait
// fails for one that has no conditions yet.
func (c *Cluster) established(ctx context.Context, dir string) error {
	for {
		_, err := c.RunKubectl(ctx, nil, "wait", "--for=condition=Established", "--timeout=1m", "--filename="+dir)
		if err == nil || ctx.Err() != nil || !strings.Contains(err.Error(), "accessor error") {
			return err
		}
	}
}

// accountsOf is a manifest of the service accounts of the add-on's controllers.
// They may do everything.
func accountsOf(spec addOnSpec) string {
	text := fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", spec.namespace)
	for _, component := range spec.components {
		text += fmt.Sprintf(`---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[1]s, namespace: %[2]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[2]s-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: %[1]s, namespace: %[2]s}]
`, component, spec.namespace)
	}
	return text
}

// namespaceOf returns the namespace of a component of an add-on.
func namespaceOf(component Component) string {
	for _, spec := range addOnSpecs() {
		if slices.Contains(spec.components, component) {
			return spec.namespace
		}
	}
	return ""
}

// launchAddOn starts a controller of an add-on, on free ports, as the user of
// its service account.
func (c *Cluster) launchAddOn(component Component) error {
	spec := addOnComponents[component]
	chosen, err := c.choosePorts(spec.ports)
	if err != nil {
		return err
	}
	c.healthPorts.Store(component, chosen[0])
	args, err := spec.args(c, chosen)
	if err != nil {
		return err
	}
	namespace := namespaceOf(component)
	kubeconfig := c.etc(string(component) + ".kubeconfig")
	if err := c.writeKubeconfig(kubeconfig, "system:serviceaccount:"+namespace+":"+string(component),
		"system:serviceaccounts", "system:serviceaccounts:"+namespace); err != nil {
		return err
	}
	// Some controllers remove old temporary files of their predecessors.
	tmp := filepath.Join(c.dir, "data", string(component), "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		return fmt.Errorf("cannot start %s: %w", component, err)
	}
	env := []string{"KUBECONFIG=" + kubeconfig, "TMPDIR=" + tmp}
	if spec.env != nil {
		env = append(env, spec.env(c)...)
	}
	_, err = c.group.Start(process.Spec{
		Name:    string(component),
		Path:    c.bin[string(component)],
		Args:    append(args, c.opts.ExtraArgs[component]...),
		LogFile: c.Logs(component),
		Env:     env,
	})
	return err
}

// addOnReady succeeds once a controller of an add-on reports that it is ready.
func (c *Cluster) addOnReady(ctx context.Context, component Component) error {
	spec := addOnComponents[component]
	url := cmp.Or(spec.scheme, "http") + "://" + loopback(c.healthPort(component))
	return c.admin.At(url).Get(ctx, spec.ready, nil)
}

// registerAddOn registers a started controller of an add-on at the API server.
func (c *Cluster) registerAddOn(ctx context.Context, component Component) error {
	register := addOnComponents[component].register
	if register == nil {
		return nil
	}
	return register(ctx, c, c.healthPort(component))
}

// loopback returns the address of a port on loopback.
func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
