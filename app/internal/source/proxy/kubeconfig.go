// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// inCluster names the only context, cluster and user where there is no
// kubeconfig and lifeline runs in a Pod.
const inCluster = "in-cluster"

// Kubeconfig is the user's configuration: every context of it, and the one that
// is in effect with what the command line overrides.
type Kubeconfig struct {
	raw       clientcmdapi.Config
	context   string
	cluster   string
	user      string
	namespace string
	current   *rest.Config
}

// Overrides are the names that the command line gave instead of those of the
// kubeconfig; empty where it gave none.
type Overrides struct {
	Context, Cluster, User string
}

// LoadKubeconfig reads the configuration behind loader. It asks no credential
// plugin for anything. Without a kubeconfig the Pod's own service account is
// used, if there is one; otherwise the error is ErrNoConfig.
func LoadKubeconfig(loader clientcmd.ClientConfig, over Overrides) (*Kubeconfig, error) {
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	current, err := loader.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, ErrNoConfig
	}
	if err != nil {
		return nil, err
	}
	if clientcmdapi.IsConfigEmpty(&raw) && isDefault(current) {
		return nil, ErrNoConfig
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, err
	}
	k := &Kubeconfig{raw: *raw.DeepCopy(), current: current, namespace: namespace}
	k.context = first(over.Context, raw.CurrentContext)
	if c := raw.Contexts[k.context]; c != nil {
		k.cluster, k.user = c.Cluster, c.AuthInfo
	}
	k.cluster, k.user = first(over.Cluster, k.cluster), first(over.User, k.user)
	if k.cluster == "" {
		k.cluster = inCluster
	}
	if k.context == "" {
		k.context = k.cluster
	}
	return k, nil
}

// Current is the client configuration in effect. The caller must not change it.
func (k *Kubeconfig) Current() *rest.Config { return k.current }

// Context is the name of the context in effect.
func (k *Kubeconfig) Context() string { return k.context }

// Namespace is the namespace in effect.
func (k *Kubeconfig) Namespace() string { return k.namespace }

// config makes the client configuration of one cluster and user.
func (k *Kubeconfig) config(cluster, user string) (*rest.Config, error) {
	if cluster == k.cluster && user == k.user {
		return rest.CopyConfig(k.current), nil
	}
	over := &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Cluster: cluster, AuthInfo: user}}
	cfg, err := clientcmd.NewNonInteractiveClientConfig(k.raw, "", over, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot use cluster %q as user %q: %w", cluster, user, err)
	}
	return cfg, nil
}

// contextOf names the context that joins a cluster and a user; where none does,
// it makes a name of both.
func (k *Kubeconfig) contextOf(cluster, user string) string {
	if cluster == k.cluster && user == k.user {
		return k.context
	}
	name := ""
	for candidate, c := range k.raw.Contexts {
		if c.Cluster == cluster && c.AuthInfo == user && (name == "" || candidate < name) {
			name = candidate
		}
	}
	return first(name, cluster+"/"+user)
}

func first(texts ...string) string {
	for _, t := range texts {
		if t != "" {
			return t
		}
	}
	return ""
}

// ErrNoConfig says that there is neither a kubeconfig nor a service account.
var ErrNoConfig = errors.New("there is no kubeconfig: set KUBECONFIG or --kubeconfig, or have one at ~/.kube/config")

// isDefault reports whether cfg is what kubectl falls back to without any
// configuration.
func isDefault(cfg *rest.Config) bool {
	fallback, err := clientcmd.DefaultClientConfig.ClientConfig()
	return err == nil && os.Getenv("KUBERNETES_MASTER") == "" && fallback.Host == cfg.Host
}
