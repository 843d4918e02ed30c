// SPDX-License-Identifier: Apache-2.0

package registration

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
	"github.com/kube-lifeline/lifeline/app/internal/webhook"
)

const (
	// DefaultName is the default name of the configuration.
	DefaultName = "lifeline"
	// DefaultService is the name of the Service in deploy/webhook.
	DefaultService = "lifeline-webhook"
	// DefaultPort is the port of that Service.
	DefaultPort = 443
	// maxExcluded limits the additional exclusions.
	maxExcluded = 200
)

// Options configure the registration. One of Service and URL is required.
type Options struct {
	// Name is the name of the configuration.
	Name string
	// Namespace is the server's namespace; its requests are excluded.
	Namespace string
	// Service is the server's Service; its Port is not 0.
	Service Service
	// URL is the server's https address in place of a Service, reachable from the API server.
	URL string
	// CA is a CA bundle in PEM for the server's certificate. Certificate is a cert-manager
	// Certificate as its source instead. Without both, the server that manages its certificate
	// writes the bundle.
	CA          []byte
	Certificate types.NamespacedName
	// ExcludeNamespaces and Exclude are further exclusions; an empty Resource means the whole
	// group.
	ExcludeNamespaces []string
	Exclude           []schema.GroupResource
	// Observe also sends requests without patches: deletions, scalings, evictions, resizings.
	Observe bool
}

// Service is a port of a Service of the cluster.
type Service struct {
	types.NamespacedName
	Port int32
}

// ParseService parses NAMESPACE/NAME[:PORT].
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
		return bad("the name of the Service is invalid")
	}
	return s, nil
}

// ParseCertificate parses NAMESPACE/NAME of a cert-manager Certificate.
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

// ParseURL parses the URL of a server outside the cluster's Services.
func ParseURL(text string) (string, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "https", u.Hostname() == "":
		err = errors.New("it must be https://HOST:PORT" + webhook.Path)
	case u.User != nil:
		err = errors.New("the API server takes no user or password in it")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		err = errors.New("the API server takes no query or fragment in it")
	case u.Path == "" || u.Path == "/":
		u.Path = webhook.Path
	case u.Path != webhook.Path:
		err = errors.New("a server answers at " + webhook.Path)
	}
	if err != nil {
		return "", fmt.Errorf("--url %.80q: %w", redacted(text), err)
	}
	return u.String(), nil
}

// redacted removes a possible password from a URL.
func redacted(text string) string {
	if at := strings.LastIndex(text, "@"); at >= 0 {
		return "…" + text[at:]
	}
	return text
}

// ParseExcluded parses RESOURCE, RESOURCE.GROUP or *.GROUP.
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

// CheckName returns an error for an invalid name of a configuration, or nil.
func CheckName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return fmt.Errorf("--name %.80q: an object's name has small letters, digits, '-' and '.'", name)
	}
	return nil
}

// Validate returns an error for invalid options, or nil.
func (o *Options) Validate() error {
	if err := CheckName(o.Name); err != nil {
		return err
	}
	if len(validation.IsDNS1123Label(o.Namespace)) > 0 {
		return fmt.Errorf("--namespace %.80q: invalid name of a namespace", o.Namespace)
	}
	if (o.Service == Service{}) == (o.URL == "") {
		return errors.New("give either --service or --url: one server gets the requests")
	}
	if len(o.CA) > 0 && o.Certificate.Name != "" {
		return errors.New("give either --ca-file or --cert-manager: the authorities have one source")
	}
	for _, n := range o.ExcludeNamespaces {
		if len(validation.IsDNS1123Label(n)) > 0 {
			return fmt.Errorf("--exclude-namespace %.80q: invalid name of a namespace; patterns are not supported", n)
		}
	}
	if n := len(o.ExcludeNamespaces) + len(o.Exclude); n > maxExcluded {
		return fmt.Errorf("cannot exclude %d namespaces and kinds: more than %d make every request slow", n,
			maxExcluded)
	}
	if len(o.CA) > 0 {
		if err := checkCA(o.CA); err != nil {
			return fmt.Errorf("--ca-file: %s", object.Bound(err.Error()))
		}
	}
	return nil
}

// Target returns the options for a webhook at a Service, as NAMESPACE/NAME[:PORT], or at a URL.
func Target(text string) (*Options, error) {
	o := &Options{}
	var err error
	if strings.Contains(text, "://") {
		o.URL, err = ParseURL(text)
	} else {
		o.Service, err = ParseService(text)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}
