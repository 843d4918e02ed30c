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

// noUser is the mirror's name of the user of a context that has none.
const noUser = "lifeline-no-user"

// mirror is the temporary kubeconfig: the user's contexts, clusters and users by
// their own names, each cluster at its own address but reached through the
// proxy, each user with a token that holds only here.
//
// The address must stay what it is: kubectl and every other program of
// cli-runtime name their discovery cache after it.
type mirror struct {
	config *clientcmdapi.Config
	// clusters are the cluster names, in the order that proxy-url numbers them.
	clusters []string
	// targets are the host and port of each cluster, as a client asks for them.
	targets map[string]string
	// prefixes are the paths that the clusters' addresses end in.
	prefixes map[string]string
	// tokens say whose token it is.
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
			continue // as unusable here as it is in the user's kubeconfig
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

// clusterOf gives the cluster that a proxy-url's user name stands for.
func (m *mirror) clusterOf(name string) (string, bool) {
	digits, ok := strings.CutPrefix(name, "c")
	i, err := strconv.Atoi(digits)
	if !ok || err != nil || i < 0 || i >= len(m.clusters) {
		return "", false
	}
	return m.clusters[i], true
}

// userOf gives the user whose one-time token this is. It takes the same time
// for every token that is none.
func (m *mirror) userOf(token string) (user string, ok bool) {
	for have, name := range m.tokens {
		if subtle.ConstantTimeCompare([]byte(have), []byte(token)) == 1 {
			user, ok = name, true
		}
	}
	return user, ok
}

// parseServer reads a cluster's address, which may lack its scheme.
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

// canonicalHost gives host:port, with the port of the scheme where none is given.
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
