// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// DefaultSecret is the default name of the Secret.
const DefaultSecret = "lifeline-webhook"

// manager is the field manager.
const manager = "lifeline-certificate"

// Defaults of Options.
const (
	defaultLife   = 90 * 24 * time.Hour
	defaultEvery  = 10 * time.Second
	defaultSettle = time.Minute
)

// Options configure a Keeper. Client, Namespace and Names are required.
type Options struct {
	Client kubernetes.Interface
	// Namespace and Secret identify the Secret; Secret defaults to DefaultSecret.
	Namespace, Secret string
	// For is the server of the certificate in messages and in the certificate, "webhook" by default.
	For string
	// Configuration is the MutatingWebhookConfiguration for the trusted certificates, if its
	// annotation requests it (registration.CAManaged); empty for none.
	Configuration string
	// APIService is the APIService for them, in place of a configuration, and needs Dynamic.
	APIService string
	Dynamic    dynamic.Interface
	// Clients makes certificates that identify their holder as a client, too. All that share the Secret trust them.
	Clients bool
	// Follow means that another process makes the certificate: the Secret is only read.
	Follow bool
	// Names are the DNS names and IP addresses in the API server's calls.
	Names []string
	// Life is the validity of a certificate, 90 days by default; it is renewed after two thirds.
	Life time.Duration
	// Every is the interval of checks, 10 s by default. Settle is how long a certificate is trusted
	// before it is served, a minute by default.
	Every, Settle time.Duration
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Log receives changes and failures; nil means no log.
	Log *slog.Logger
}

// Keeper maintains a served certificate. Its methods are safe for concurrent use; only one
// goroutine may call Run.
type Keeper struct {
	opts    Options
	current atomic.Pointer[tls.Certificate]
	trusted atomic.Pointer[x509.CertPool]
	ready   chan struct{}
	// lastError is the last logged error; cert is the served certificate.
	lastError string
	cert      []byte
}

// New returns a Keeper without a certificate.
func New(o Options) (*Keeper, error) {
	if o.Secret == "" {
		o.Secret = DefaultSecret
	}
	switch {
	case o.Client == nil:
		return nil, errors.New("cannot keep a certificate without a cluster; name TLS files instead")
	case len(validation.IsDNS1123Label(o.Namespace)) > 0 || len(validation.IsDNS1123Subdomain(o.Secret)) > 0:
		return nil, fmt.Errorf("cannot keep a certificate in Secret %.80q of namespace %.80q: invalid name",
			o.Secret, o.Namespace)
	case o.APIService != "" && o.Dynamic == nil:
		return nil, errors.New("cannot write a certificate into an APIService without a client for it")
	case o.Follow:
	case len(o.Names) == 0 || len(o.Names) > maxNames:
		return nil, fmt.Errorf("cannot keep a certificate for %d names: it needs the 1 to %d names of its server",
			len(o.Names), maxNames)
	}
	for _, name := range o.Names {
		if net.ParseIP(name) == nil && len(validation.IsDNS1123Subdomain(name)) > 0 {
			return nil, fmt.Errorf("cannot keep a certificate for %.80q: it is neither a DNS name nor an IP address",
				name)
		}
	}
	if o.For == "" {
		o.For = "webhook"
	}
	if o.Life == 0 {
		o.Life = defaultLife
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Settle == 0 {
		o.Settle = defaultSettle
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{opts: o, ready: make(chan struct{})}, nil
}

// Ready is closed when there is a certificate.
func (k *Keeper) Ready() <-chan struct{} { return k.ready }

// GetCertificate returns the current certificate, for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if c := k.current.Load(); c != nil {
		return c, nil
	}
	return nil, errors.New("no certificate yet: the cluster was not reached, or the server lacks the right to the " +
		"Secret (see \"lifeline rbac\")")
}

// Trusted returns the certificates of all that share the Secret: the present one, the next, and the last. It is empty
// before the first.
func (k *Keeper) Trusted() *x509.CertPool {
	if pool := k.trusted.Load(); pool != nil {
		return pool
	}
	return x509.NewCertPool()
}

// Run maintains the certificate until ctx ends. Failures are logged and retried; meanwhile the last
// certificate is served.
func (k *Keeper) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
		// A failed request is retried in the next step.
		once, cancel := context.WithTimeout(ctx, max(k.opts.Every, defaultEvery))
		err := k.step(once)
		cancel()
		if ctx.Err() == nil {
			k.logOnce(err)
		}
		timer.Reset(k.opts.Every)
	}
}

// logOnce logs an error once until it changes.
func (k *Keeper) logOnce(err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != k.lastError {
		k.opts.Log.Warn("cannot renew the "+k.opts.For+"'s certificate; the present one stays", "error", text)
	}
	if text == "" && k.lastError != "" {
		k.opts.Log.Info("the " + k.opts.For + "'s certificate is renewed again")
	}
	k.lastError = text
}

// step performs the work that is due. It reads the registered object before the Secret. If another
// server writes both in between, the Secret is then not older than the object.
func (k *Keeper) step(ctx context.Context) error {
	object, unknown := k.registered(ctx)
	s, err := k.share(ctx, object, unknown)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) { // another process was first
		s, err = k.share(ctx, object, unknown)
	}
	if err != nil {
		return fmt.Errorf("cannot keep Secret %s/%s: %w", k.opts.Namespace, k.opts.Secret, err)
	}
	k.serve(s)
	if unknown != nil {
		return unknown
	}
	return k.inject(ctx, object, s)
}

// share updates the Secret, and returns its state.
func (k *Keeper) share(ctx context.Context, r *registered, unknown error) (state, error) {
	secrets := k.opts.Client.CoreV1().Secrets(k.opts.Namespace)
	secret, err := secrets.Get(ctx, k.opts.Secret, metav1.GetOptions{})
	absent := apierrors.IsNotFound(err)
	if err != nil && !absent {
		return state{}, err
	}
	var before state
	if !absent {
		if secret.Type != corev1.SecretTypeTLS {
			return before, fmt.Errorf("its type is %.80q, so it has another owner: delete it, or name another",
				secret.Type)
		}
		before = readState(secret.Data)
	}
	if k.opts.Follow {
		if before.now == nil {
			return before, errors.New("it has no certificate yet: another process makes it")
		}
		return before, nil
	}
	after, why, err := before.follow(plan{
		makes: makes{subject: "lifeline " + k.opts.For, clients: k.opts.Clients, life: k.opts.Life},
		names: k.opts.Names, settle: k.opts.Settle, now: k.opts.Now(),
		trusted: func(leaf *x509.Certificate) bool { return unknown == nil && trusts(r, leaf) },
	})
	if err != nil || why == "" {
		return after, err
	}
	if absent {
		_, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Name: k.opts.Secret, Namespace: k.opts.Namespace,
				Labels: map[string]string{
					"app.kubernetes.io/name": "lifeline", "app.kubernetes.io/component": k.opts.For,
				},
			},
			Type: corev1.SecretTypeTLS, Data: after.data(),
		}, metav1.CreateOptions{FieldManager: manager})
	} else {
		secret.Data = after.data()
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: manager})
	}
	if err != nil {
		return state{}, err
	}
	k.opts.Log.Info("the "+k.opts.For+"'s certificate was changed", "because", why,
		"valid until", after.now.leaf.NotAfter, "next prepared", after.next != nil)
	return after, nil
}

// serve starts to serve the certificate of a state.
func (k *Keeper) serve(s state) {
	pool := x509.NewCertPool()
	for _, c := range s.trusted {
		pool.AddCert(c)
	}
	k.trusted.Store(pool)
	if slices.Equal(k.cert, s.now.cert) {
		return
	}
	first := k.cert == nil
	k.cert = s.now.cert
	k.current.Store(s.now.tls())
	if first {
		close(k.ready)
	}
}
