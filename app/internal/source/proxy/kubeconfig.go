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

// inCluster is the name of context, cluster and user for lifeline in a Pod without a kubeconfig.
const inCluster = "in-cluster"

// Kubeconfig is the user's configuration: all its contexts, and the current one with the overrides
// of the command line.
type Kubeconfig struct {
	raw       clientcmdapi.Config
	context   string
	cluster   string
	user      string
	namespace string
	current   *rest.Config
}

// Overrides are names from the command line that replace those in the kubeconfig; empty means none.
type Overrides struct {
	Context, Cluster, User string
}

// LoadKubeconfig reads the configuration from loader. It calls no credential plugin. Without a
// kubeconfig it uses the Pod's service account. If there is none either, the error is ErrNoConfig.
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

// Current returns the client configuration in effect. The caller must not change it.
func (k *Kubeconfig) Current() *rest.Config { return k.current }

// Context returns the name of the context in effect.
func (k *Kubeconfig) Context() string { return k.context }

// Namespace returns the namespace in effect.
func (k *Kubeconfig) Namespace() string { return k.namespace }

// config returns the client configuration for a cluster and a user.
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

// contextOf returns the name of the context with this cluster and user. Without such a context it
// returns "cluster/user".
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

// ErrNoConfig means that there is neither a kubeconfig nor a service account.
var ErrNoConfig = errors.New(
	"there is no kubeconfig: set KUBECONFIG or --kubeconfig to an existing file, or have one at ~/.kube/config",
)

// isDefault reports whether cfg is kubectl's fallback without any configuration.
func isDefault(cfg *rest.Config) bool {
	fallback, err := clientcmd.DefaultClientConfig.ClientConfig()
	return err == nil && os.Getenv("KUBERNETES_MASTER") == "" && fallback.Host == cfg.Host
}
