// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/homedir"
)

// kubeconfig are kubectl's flags for a kubeconfig. They are those of client-go. The same flags of
// k8s.io/cli-runtime bring kustomize with them, and Go's plugins: the linker then removes nothing.
type kubeconfig struct {
	file, cacheDir string
	extra          []string
	clientcmd.ConfigOverrides
	// names are the names and descriptions of the flags; an empty LongName leaves a flag out.
	names clientcmd.ConfigOverrideFlags
}

func newKubeconfig() *kubeconfig {
	k := &kubeconfig{names: clientcmd.RecommendedConfigOverrideFlags("")}
	k.names.ClusterOverrideFlags.APIServer.ShortName = "s"
	k.names.ClusterOverrideFlags.ProxyURL.LongName = "" // kubectl has none of these
	k.names.AuthOverrideFlags.Username.LongName, k.names.AuthOverrideFlags.Password.LongName = "", ""
	return k
}

// addFlags adds the flags to a command.
func (k *kubeconfig) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&k.file, clientcmd.RecommendedConfigPathFlag, "",
		"Path to the kubeconfig file to use for CLI requests.")
	flags.StringVar(&k.cacheDir, "cache-dir", defaultCacheDir(), "Default cache directory")
	flags.StringArrayVar(&k.extra, "as-user-extra", nil,
		"User extras to impersonate for the operation, this flag can be repeated to specify multiple values "+
			"for the same key.")
	clientcmd.BindOverrideFlags(&k.ConfigOverrides, flags, k.names)
}

// addNamespace adds the flag of the namespace alone.
func (k *kubeconfig) addNamespace(flags *pflag.FlagSet) {
	clientcmd.BindContextFlags(&k.Context, flags, clientcmd.ContextOverrideFlags{
		Namespace: k.names.ContextOverrideFlags.Namespace,
	})
}

// loader returns the loader of the selected kubeconfig. Each file is read on first use.
func (k *kubeconfig) loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig = &clientcmd.DefaultClientConfig
	rules.ExplicitPath = k.file
	o := k.ConfigOverrides
	o.ClusterDefaults = clientcmd.ClusterDefaults
	o.AuthInfo.ImpersonateUserExtra = k.userExtra()
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &o)
}

// userExtra returns the values of --as-user-extra by their keys.
func (k *kubeconfig) userExtra() map[string][]string {
	var out map[string][]string
	for _, pair := range k.extra {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		if out == nil {
			out = map[string][]string{}
		}
		out[key] = append(out[key], value)
	}
	return out
}

// raw returns the kubeconfig before the flags.
func (k *kubeconfig) raw() (clientcmdapi.Config, error) { return k.loader().RawConfig() }

// mapper returns the kinds of the cluster by their names, from kubectl's cache of them if it is not old.
func (k *kubeconfig) mapper() (meta.RESTMapper, error) {
	config, err := k.loader().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("cannot read the kubeconfig: %w", err)
	}
	of := unsafeInPath.ReplaceAllString(strings.TrimPrefix(strings.TrimPrefix(config.Host, "https://"), "http://"), "_")
	dir := cmp.Or(k.cacheDir, defaultCacheDir())
	client, err := disk.NewCachedDiscoveryClientForConfig(
		config, filepath.Join(dir, "discovery", of), filepath.Join(dir, "http"), cacheFor,
	)
	if err != nil {
		return nil, fmt.Errorf("cannot read the kinds of the cluster: %w", err)
	}
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(client), client, nil), nil
}

// cacheFor is the time for which kubectl uses its cache of the cluster's kinds.
const cacheFor = 6 * time.Hour

// unsafeInPath are the characters of an address that kubectl replaces in the path of its cache.
var unsafeInPath = regexp.MustCompile(`[^(\w/.)]`)

// defaultCacheDir returns the folder of kubectl's cache.
func defaultCacheDir() string {
	if dir := os.Getenv("KUBECACHEDIR"); dir != "" {
		return dir
	}
	return filepath.Join(homedir.HomeDir(), ".kube", "cache")
}
