// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"crypto/subtle"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// noUser is the mirror's user name for contexts without a user.
const noUser = "lifeline-no-user"

// mirror is the temporary kubeconfig. It has the user's contexts, clusters and users under their
// own names. Each cluster keeps its address, with proxy-url set to the proxy. Each user gets a
// token that only this proxy accepts.
//
// The address must not change: kubectl and other programs with cli-runtime derive the directory of
// their discovery cache from it.
type mirror struct {
	config *clientcmdapi.Config
	// clusters are the cluster names, in the order of the numbers in proxy-url.
	clusters []string
	// targets has the host and port of each cluster, in the form that clients request.
	targets map[string]string
	// prefixes has the path at the end of each cluster's address.
	prefixes map[string]string
	// tokens maps each one-time token to its user.
	tokens map[string]string
}

func newMirror(k *Kubeconfig, proxyAddr, secret string, ca []byte) (*mirror, error) {
	m := &mirror{
		config:   clientcmdapi.NewConfig(),
		targets:  map[string]string{},
		prefixes: map[string]string{},
		tokens:   map[string]string{},
	}
	servers := map[string]string{k.cluster: k.current.Host}
	for name, c := range k.raw.Clusters {
		if name != k.cluster {
			servers[name] = c.Server
		}
	}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		server, err := parseServer(servers[name])
		if err != nil {
			if name == k.cluster {
				return nil, fmt.Errorf("cannot use the server of cluster %q: %w", name, err)
			}
			continue // the user's kubeconfig has the same fault
		}
		server.Scheme = "https"
		via := url.URL{
			Scheme: "http",
			Host:   proxyAddr,
			User:   url.UserPassword("c"+strconv.Itoa(len(m.clusters)), secret),
		}
		cluster := clientcmdapi.NewCluster()
		cluster.Server = server.String()
		cluster.ProxyURL = via.String()
		cluster.CertificateAuthorityData = ca
		m.config.Clusters[name] = cluster
		m.clusters = append(m.clusters, name)
		m.targets[name] = canonicalHost(server)
		m.prefixes[name] = strings.TrimRight(server.Path, "/")
	}
	m.addUser(k.user)
	for name := range k.raw.AuthInfos {
		m.addUser(name)
	}
	for name, c := range k.raw.Contexts {
		m.addContext(name, c.Cluster, c.AuthInfo, c.Namespace)
	}
	m.addContext(k.context, k.cluster, k.user, k.namespace)
	m.config.CurrentContext = k.context
	return m, nil
}

func (m *mirror) addContext(name, cluster, user, namespace string) {
	m.addUser(user)
	c := clientcmdapi.NewContext()
	c.Cluster, c.AuthInfo, c.Namespace = cluster, first(user, noUser), namespace
	m.config.Contexts[name] = c
}

func (m *mirror) addUser(name string) {
	as := first(name, noUser)
	if m.config.AuthInfos[as] != nil {
		return
	}
	info := clientcmdapi.NewAuthInfo()
	info.Token = newSecret()
	m.tokens[info.Token] = name
	m.config.AuthInfos[as] = info
}

func (m *mirror) write(path string) error {
	if err := clientcmd.WriteToFile(*m.config, path); err != nil {
		return fmt.Errorf("cannot write the command's kubeconfig %s: %w", path, err)
	}
	return os.Chmod(path, 0o600)
}

// clusterOf returns the cluster for the user name in a proxy-url.
func (m *mirror) clusterOf(name string) (string, bool) {
	digits, ok := strings.CutPrefix(name, "c")
	i, err := strconv.Atoi(digits)
	if !ok || err != nil || i < 0 || i >= len(m.clusters) {
		return "", false
	}
	return m.clusters[i], true
}

// userOf returns the user of a one-time token. The time does not depend on the wrong token's
// content.
func (m *mirror) userOf(token string) (user string, ok bool) {
	for have, name := range m.tokens {
		if subtle.ConstantTimeCompare([]byte(have), []byte(token)) == 1 {
			user, ok = name, true
		}
	}
	return user, ok
}

// parseServer parses a cluster's address. A missing scheme means http.
func parseServer(server string) (*url.URL, error) {
	if !strings.Contains(server, "://") {
		server = "http://" + server
	}
	u, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	if u.Host == "" {
		return nil, fmt.Errorf("%q has no host", server)
	}
	return u, nil
}

// canonicalHost returns host:port. The default port is that of the scheme.
func canonicalHost(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
		if u.Scheme == "http" {
			port = "80"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}
