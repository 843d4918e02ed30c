// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/kube-lifeline/lifeline/lab/internal/process"
)

// apiserverGrace is enough for the requests it is answering. Left alone, it
// would wait a minute for watches to end.
const apiserverGrace = time.Second

// auditPolicy is the file with the audit policy.
const auditPolicy = "audit-policy.yaml"

// defaultAuditPolicy is what Options.AuditPolicy is when empty.
//
//go:embed audit-policy.yaml
var defaultAuditPolicy string

// launch starts a component of the control plane, or of an add-on, with the
// present options.
func (c *Cluster) launch(component Component) error {
	if _, ok := addOnComponents[component]; ok {
		return c.launchAddOn(component)
	}
	args, err := map[Component]func() ([]string, error){
		Etcd:              c.etcdArgs,
		APIServer:         c.apiserverArgs,
		ControllerManager: c.controllerManagerArgs,
		Scheduler:         c.schedulerArgs,
	}[component]()
	if err != nil {
		return err
	}
	spec := process.Spec{
		Name:    string(component),
		Path:    c.bin[string(component)],
		Args:    append(args, c.opts.ExtraArgs[component]...),
		LogFile: c.Logs(component),
	}
	switch {
	case component == APIServer:
		spec.Grace = apiserverGrace
	case component == Scheduler && c.opts.Scheduler != "":
		spec.Path, spec.Env = c.opts.Scheduler, c.schedulerEnv()
	}
	if os.Getenv("GOGC") == "" { // a tenth less processor time, and some 130 MiB more of the API server
		spec.Env = append(spec.Env, "GOGC=400")
	}
	_, err = c.group.Start(spec)
	return err
}

func (c *Cluster) etcdArgs() ([]string, error) {
	args := c.etcdArgsAt("etcd", c.etcdURL())
	if t, ok := c.opts.Tracing[Etcd]; ok {
		args = append(args,
			"--enable-distributed-tracing",
			"--distributed-tracing-address="+t.Endpoint,
			"--distributed-tracing-sampling-rate="+strconv.Itoa(int(t.SamplingRatePerMillion)))
	}
	return args, nil
}

func (c *Cluster) etcdURL() string { return c.etcdAt(c.etcdPort) }

func (c *Cluster) etcdAt(port int) string { return "https://" + loopback(port) }

func (c *Cluster) apiserverArgs() ([]string, error) {
	policy := c.etc(auditPolicy)
	if err := writeFile(policy, cmp.Or(c.opts.AuditPolicy, defaultAuditPolicy)); err != nil {
		return nil, err
	}
	args := []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.apiPort),
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none", // no Endpoints may name loopback
		"--etcd-servers=" + c.etcdURL(),
		"--etcd-cafile=" + c.pki("etcd-ca.crt"),
		"--etcd-certfile=" + c.pki("apiserver-etcd.crt"),
		"--etcd-keyfile=" + c.pki("apiserver-etcd.key"),
		"--tls-cert-file=" + c.pki("apiserver.crt"),
		"--tls-private-key-file=" + c.pki("apiserver.key"),
		"--client-ca-file=" + c.pki("ca.crt"),
		"--kubelet-certificate-authority=" + c.pki("ca.crt"),
		"--kubelet-client-certificate=" + c.pki("apiserver-kubelet.crt"),
		"--kubelet-client-key=" + c.pki("apiserver-kubelet.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.pki("service-account.key"),
		"--service-account-signing-key-file=" + c.pki("service-account.key"),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--authorization-mode=Node,RBAC",
		"--allow-privileged=true",
		"--audit-log-path=" + c.AuditLog(),
		"--audit-log-maxsize=0", // one file: rotation would hide writes
		"--audit-policy-file=" + policy,
		// An aggregated API trusts the API server's users.
		"--requestheader-client-ca-file=" + c.pki("ca.crt"),
		"--requestheader-allowed-names=" + frontProxy,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-uid-headers=X-Remote-Uid",
		"--proxy-client-cert-file=" + c.pki(frontProxy+".crt"),
		"--proxy-client-key-file=" + c.pki(frontProxy+".key"),
	}
	if c.opts.routesToPods() {
		args = append(args, "--enable-aggregator-routing=true") // there is no kube-proxy
	}
	if sink := c.opts.AuditWebhook; sink != "" {
		path := c.etc("audit-webhook.kubeconfig")
		if err := writeJSON(path, auditWebhookConfig(sink)); err != nil {
			return nil, err
		}
		args = append(args,
			"--audit-webhook-config-file="+path,
			"--audit-webhook-batch-max-wait=500ms",
			"--audit-webhook-initial-backoff=1s")
	}
	if t, ok := c.opts.Tracing[APIServer]; ok {
		path := c.etc("apiserver-tracing.json")
		if err := writeJSON(path, map[string]any{
			"apiVersion":             "apiserver.config.k8s.io/v1",
			"kind":                   "TracingConfiguration",
			"endpoint":               t.Endpoint,
			"samplingRatePerMillion": t.SamplingRatePerMillion,
		}); err != nil {
			return nil, err
		}
		args = append(args, "--tracing-config-file="+path)
	}
	return args, nil
}

// auditWebhookConfig is a kubeconfig that names the sink.
func auditWebhookConfig(sink string) any {
	return map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"clusters":        []any{map[string]any{"name": "sink", "cluster": map[string]any{"server": sink}}},
		"contexts":        []any{map[string]any{"name": "sink", "context": map[string]any{"cluster": "sink"}}},
		"current-context": "sink",
	}
}

func (c *Cluster) controllerManagerArgs() ([]string, error) {
	health, err := c.healthArgs(ControllerManager)
	if err != nil {
		return nil, err
	}
	return append(health,
		"--kubeconfig="+c.etc("kube-controller-manager.kubeconfig"),
		"--leader-elect=false",
		"--use-service-account-credentials", // each controller has its own user
		"--service-account-private-key-file="+c.pki("service-account.key"),
		"--root-ca-file="+c.pki("ca.crt"),
		"--cluster-signing-cert-file="+c.pki("ca.crt"),
		"--cluster-signing-key-file="+c.pki("ca.key"),
		// Its default is created below /usr.
		"--flex-volume-plugin-dir="+filepath.Join(c.dir, "data", "flex-volumes"),
	), nil
}

func (c *Cluster) schedulerArgs() ([]string, error) {
	health, err := c.healthArgs(Scheduler)
	if err != nil {
		return nil, err
	}
	return append(health,
		"--kubeconfig="+c.etc("kube-scheduler.kubeconfig"),
		"--leader-elect=false",
	), nil
}

// schedulerEnv configures the spans of a scheduler that is not kube-scheduler.
func (c *Cluster) schedulerEnv() []string {
	t, ok := c.opts.Tracing[Scheduler]
	if !ok {
		return []string{"OTEL_SDK_DISABLED=true"}
	}
	return t.Env()
}

// healthArgs let a component serve its health, and metrics, on a free port.
func (c *Cluster) healthArgs(component Component) ([]string, error) {
	ports, err := c.choosePorts(1)
	if err != nil {
		return nil, err
	}
	c.healthPorts.Store(component, ports[0])
	kubeconfig := c.etc(string(component) + ".kubeconfig")
	return []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(ports[0]),
		"--tls-cert-file=" + c.pki("apiserver.crt"),
		"--tls-private-key-file=" + c.pki("apiserver.key"),
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
	}, nil
}

// healthPort is the port that healthArgs chose last.
func (c *Cluster) healthPort(component Component) int {
	port, _ := c.healthPorts.Load(component)
	n, _ := port.(int)
	return n
}

// writeJSON writes a configuration file; Kubernetes reads JSON as YAML.
func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot encode %s: %w", path, err)
	}
	return writeFile(path, string(data))
}
