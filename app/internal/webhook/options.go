// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// Path is where a server answers.
	Path = "/admission"
	// DefaultName is that of the configuration.
	DefaultName = "lifeline"
	// DefaultService is the name of the Service in deploy/webhook.
	DefaultService = "lifeline-webhook"
	// DefaultPort is that Service's.
	DefaultPort = 443
	// maxExcluded bounds what is excluded beside the usual.
	maxExcluded = 200
)

// Options say what the configuration is to be. One of Service and URL is required.
type Options struct {
	// Name is that of the configuration.
	Name string
	// Namespace is that of the server: nothing in it is asked about.
	Namespace string
	// Service is asked; its Port is not 0.
	Service Service
	// URL is asked instead, at any place that the API server reaches; https.
	URL string
	// CA are authorities in PEM by which the server's certificate is known; of
	// cert-manager's Certificate they come from that. Without both, the server that
	// manages its own certificate writes them.
	CA          []byte
	Certificate types.NamespacedName
	// ExcludeNamespaces and Exclude are what else is not asked about; an empty Resource
	// is the whole group.
	ExcludeNamespaces []string
	Exclude           []schema.GroupResource
	// Observe has also asked about what cannot be patched: deletions, scalings,
	// evictions, resizings.
	Observe bool
}

// Service is a port of a Service of the cluster.
type Service struct {
	types.NamespacedName
	Port int32
}

// ParseService reads NAMESPACE/NAME[:PORT].
func ParseService(text string) (Service, error) {
	bad := func(why string) (Service, error) {
		return Service{}, fmt.Errorf("--service %.80q: it must be NAMESPACE/NAME or NAMESPACE/NAME:PORT; %s", text, why)
	}
	s := Service{Port: DefaultPort}
	name, port, given := strings.Cut(text, ":")
	if given {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return bad("the port is not 1 to 65535")
		}
		s.Port = int32(n)
	}
	var ok bool
	if s.NamespacedName, ok = namespaced(name); !ok || len(validation.IsDNS1035Label(s.Name)) > 0 {
		return bad("that is no Service's name")
	}
	return s, nil
}

// ParseCertificate reads NAMESPACE/NAME of a Certificate of cert-manager.
func ParseCertificate(text string) (types.NamespacedName, error) {
	n, ok := namespaced(text)
	if !ok {
		return n, fmt.Errorf("--cert-manager %.80q: it must be NAMESPACE/NAME of a Certificate", text)
	}
	return n, nil
}

func namespaced(text string) (types.NamespacedName, bool) {
	namespace, name, _ := strings.Cut(text, "/")
	ok := len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
	return types.NamespacedName{Namespace: namespace, Name: name}, ok
}

// ParseURL reads where a server answers outside of the cluster's Services.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https", u.Hostname() == "":
		err = errors.New("it must be https://HOST:PORT" + Path)
	case u.User != nil:
		err = errors.New("the API server takes no user or password in it")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		err = errors.New("the API server takes no query or fragment in it")
	case u.Path == "" || u.Path == "/":
		u.Path = Path
	case u.Path != Path:
		err = errors.New("a server answers at " + Path)
	}
	if err != nil {
		return "", fmt.Errorf("--url %.80q: %w", redacted(text), err)
	}
	return u.String(), nil
}

// redacted leaves out of a URL what may be a password.
func redacted(text string) string {
	if at := strings.LastIndex(text, "@"); at >= 0 {
		return "…" + text[at:]
	}
	return text
}

// ParseExcluded reads RESOURCE, RESOURCE.GROUP or *.GROUP.
func ParseExcluded(texts []string) ([]schema.GroupResource, error) {
	out := make([]schema.GroupResource, 0, len(texts))
	for _, text := range texts {
		gr, ok := config.ParseExclude(text)
		if !ok {
			return nil, fmt.Errorf("--exclude %.80q: it must be RESOURCE, RESOURCE.GROUP or *.GROUP, such as "+
				"certificates.cert-manager.io", text)
		}
		out = append(out, gr)
	}
	return out, nil
}

// CheckName says what is wrong with a configuration's name, or returns nil.
func CheckName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("--name %.80q: it is no name of an object: small letters, digits, '-' and '.'", name)
	}
	return nil
}

// Validate says what is wrong with options, or returns nil.
func (o *Options) Validate() error {
	if err := CheckName(o.Name); err != nil {
		return err
	}
	if len(validation.IsDNS1123Label(o.Namespace)) > 0 {
		return fmt.Errorf("--namespace %.80q: it is no name of a namespace", o.Namespace)
	}
	if (o.Service == Service{}) == (o.URL == "") {
		return errors.New("--service and --url do not go together: one server is asked")
	}
	if len(o.CA) > 0 && o.Certificate.Name != "" {
		return errors.New(
			"--ca-file and --cert-manager do not go together: one of them says which certificate is right")
	}
	for _, n := range o.ExcludeNamespaces {
		if len(validation.IsDNS1123Label(n)) > 0 {
			return fmt.Errorf("--exclude-namespace %.80q: it is no name of a namespace; there are no patterns", n)
		}
	}
	if n := len(o.ExcludeNamespaces) + len(o.Exclude); n > maxExcluded {
		return fmt.Errorf("cannot exclude %d namespaces and kinds: more than %d make every request dear", n,
			maxExcluded)
	}
	if len(o.CA) > 0 {
		if err := checkCA(o.CA); err != nil {
			return fmt.Errorf("--ca-file: %s", object.Bound(err.Error()))
		}
	}
	return nil
}
