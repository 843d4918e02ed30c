// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/kube-lifeline/lifeline/lab/internal/pki"
)

const (
	adminUser  = "admin"
	adminGroup = "system:masters"
)

// Kubeconfig returns the path of the administrator's kubeconfig: a member of
// system:masters, whose trace contexts the API server trusts.
func (c *Cluster) Kubeconfig() string { return c.KubeconfigFor(adminUser) }

// KubeconfigFor returns the path of the kubeconfig of a user named in
// Options.Users. It holds everything inline and may be copied.
func (c *Cluster) KubeconfigFor(user string) string {
	return filepath.Join(c.dir, "kubeconfig", user+".yaml")
}

// ServingCert returns a certificate, its key, and its authority, all in PEM, for a server on the
// given names or addresses, such as a webhook. Without hosts it is for 127.0.0.1 and localhost.
func (c *Cluster) ServingCert(hosts ...string) (cert, key, ca []byte, err error) {
	if len(hosts) == 0 {
		hosts = []string{"127.0.0.1", "localhost"}
	}
	pair, err := c.authority.Server(hosts[0], hosts...)
	if err != nil {
		return nil, nil, nil, err
	}
	return pair.Cert, pair.Key, c.authority.CA(), nil
}

// RunKubectl runs kubectl as the administrator and returns its stdout. stdin may be nil. An error
// holds its stderr.
func (c *Cluster) RunKubectl(ctx context.Context, stdin io.Reader, args ...string) (string, error) {
	return c.RunKubectlAs(ctx, adminUser, stdin, args...)
}

// RunKubectlAs is RunKubectl as another user.
func (c *Cluster) RunKubectlAs(ctx context.Context, user string, stdin io.Reader, args ...string) (string, error) {
	return c.run(ctx, "kubectl", user, stdin, args)
}

// RunHelmAs runs helm as a user and returns its stdout. An error holds its
// stderr. It needs the add-on Helm.
func (c *Cluster) RunHelmAs(ctx context.Context, user string, args ...string) (string, error) {
	return c.RunHelmWith(ctx, user, nil, args...)
}

// RunHelmWith is RunHelmAs with further variables of the environment, such as
// HELM_DRIVER=configmap.
func (c *Cluster) RunHelmWith(ctx context.Context, user string, env []string, args ...string) (string, error) {
	if !c.opts.has(Helm) {
		return "", fmt.Errorf("cannot run helm: the cluster was started without the add-on %s", Helm)
	}
	return c.run(ctx, "helm", user, nil, args, env...)
}

// run runs one of the cluster's programs as a user, with directories of the
// cluster for what the program keeps, and further variables of the environment.
func (c *Cluster) run(
	ctx context.Context, program, user string, stdin io.Reader, args []string, env ...string,
) (string, error) {
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(ctx, c.bin[program], args...)
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+c.KubeconfigFor(user), "KUBECACHEDIR="+filepath.Join(c.dir, "kubectl-cache"))
	for _, kind := range []string{"CACHE", "CONFIG", "DATA"} {
		cmd.Env = append(cmd.Env, "HELM_"+kind+"_HOME="+filepath.Join(c.dir, "helm", strings.ToLower(kind)))
	}
	cmd.Env = append(cmd.Env, env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w: %s",
			program, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return out.String(), nil
}

var kubeconfigTemplate = template.Must(template.New("kubeconfig").Parse(`apiVersion: v1
kind: Config
clusters:
- name: {{.Cluster}}
  cluster:
    server: {{.Server}}
    certificate-authority-data: {{.CA}}
users:
- name: {{.User}}
  user:
    client-certificate-data: {{.Cert}}
    client-key-data: {{.Key}}
contexts:
- name: {{.Cluster}}
  context:
    cluster: {{.Cluster}}
    user: {{.User}}
current-context: {{.Cluster}}
`))

// writeKubeconfig writes a kubeconfig for a new certificate of the user.
func (c *Cluster) writeKubeconfig(path, user string, groups ...string) error {
	pair, err := c.authority.Client(user, groups...)
	if err != nil {
		return err
	}
	return c.writeKubeconfigFor(path, user, pair)
}

func (c *Cluster) writeKubeconfigFor(path, user string, pair pki.Pair) error {
	var text bytes.Buffer
	err := kubeconfigTemplate.Execute(&text, map[string]string{
		"Cluster": "lab-" + c.opts.Name,
		"Server":  c.ServerURL(),
		"User":    user,
		"CA":      base64.StdEncoding.EncodeToString(c.authority.CA()),
		"Cert":    base64.StdEncoding.EncodeToString(pair.Cert),
		"Key":     base64.StdEncoding.EncodeToString(pair.Key),
	})
	if err != nil {
		return fmt.Errorf("cannot write the kubeconfig of %s: %w", user, err)
	}
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return fmt.Errorf("cannot write the kubeconfig of %s: %w", user, err)
	}
	return nil
}
