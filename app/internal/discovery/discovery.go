// SPDX-License-Identifier: Apache-2.0

// Package discovery is `lifeline discovery`: the server that the API server asks for the API group lifeline.dev. It
// answers discovery and OpenAPI by itself, so that a server that is away delays no client of the cluster and no
// deletion of a namespace. All else goes on to the server by mutual TLS, with the caller that the API server has
// authenticated; without the server, the answer is 503. It keeps no data, and any number of replicas may run.
package discovery

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/identity"
	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/certificate"
)

// APIService is the name of the registration.
const APIService = kubeapi.Version + "." + kubeapi.Group

// Options configure Run. All are required, except for Log.
type Options struct {
	// Config is the connection to the API server.
	Config *rest.Config
	// Namespace and Secret name the Secret with the certificate, which the server shares. Names are those in the
	// certificate: that of the Service of this process, and ServerName.
	Namespace, Secret string
	Names             []string
	// Server is the URL of api.aggregation, and ServerName the name in its certificate.
	Server, ServerName string
	// Address is host:port for the API server, and Telemetry that of metrics and health.
	Address, Telemetry string
	Log                *slog.Logger
}

// Run serves until ctx ends.
func Run(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	server, err := url.Parse(o.Server)
	if err != nil || server.Scheme != "https" || server.Host == "" {
		return fmt.Errorf("%.200q is not the URL of a server: give one such as https://lifeline-api.lifeline.svc",
			o.Server)
	}
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return fmt.Errorf("cannot make a client of the cluster: %w", err)
	}
	objects, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return fmt.Errorf("cannot make a client of the cluster: %w", err)
	}
	keeper, err := certificate.New(certificate.Options{
		Client: client, Dynamic: objects, Namespace: o.Namespace, Secret: o.Secret, For: "API", APIService: APIService,
		Names: o.Names, Clients: true, Log: o.Log,
	})
	if err != nil {
		return err
	}
	front, err := identity.NewFrontProxy(client)
	if err != nil {
		return fmt.Errorf("cannot follow the certificate of the API server: %w", err)
	}
	at := httpserve.Endpoint{
		Address: o.Address, Certificate: keeper.GetCertificate, ClientCertificates: tls.RequestClientCert,
	}
	ln, err := at.Listen(ctx, httpserve.Purpose{
		Name: "the API server", MaxConnections: httpserve.MaxConnections, Protocols: []string{"http/1.1"}, Log: o.Log,
	})
	if err != nil {
		return err
	}
	health := &telemetry.Health{}
	health.Ready("certificate", func() error {
		_, err := keeper.GetCertificate(nil)
		return err
	})
	scraped, err := httpserve.Endpoint{Address: o.Telemetry, Insecure: true}.Listen(ctx, httpserve.Purpose{
		Name: "health", MaxConnections: httpserve.MaxConnections,
	})
	if err != nil {
		_ = ln.Close()
		return err
	}
	telemetry.RouteKlog(o.Log)
	o.Log.Info("lifeline discovery starts", "address", ln.Addr().String(), "server", server.Redacted())
	return together(ctx,
		keeper.Run,
		func(ctx context.Context) error { front.Run(ctx); return nil },
		func(ctx context.Context) error {
			forward := newForwarder(server, o.ServerName, o.Namespace, keeper, time.Now, o.Log)
			return httpserve.Serve(ctx, ln, handler(front, forward))
		},
		func(ctx context.Context) error {
			return httpserve.Serve(ctx, scraped, telemetry.Handler(telemetry.HandlerOptions{Health: health}))
		},
	)
}

// together runs parts until ctx ends or one fails, and returns after the end of all.
func together(ctx context.Context, parts ...func(context.Context) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var all sync.WaitGroup
	for _, part := range parts {
		all.Go(func() {
			if err := part(ctx); err != nil {
				fail(err)
			}
		})
	}
	all.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// handler answers discovery and OpenAPI for all clients, and hands on requests for resources with their caller.
func handler(front authenticator.Request, forward *forwarder) http.Handler {
	documents := kubeapi.Documents()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !kubeapi.Serves(r.URL.Path) {
			documents.ServeHTTP(w, r)
			return
		}
		caller, known, err := front.AuthenticateRequest(r)
		switch {
		case err == nil && known:
			forward.serve(w, r, caller.User)
		case errors.Is(err, context.Canceled):
		default:
			if err != nil {
				forward.log.Warn("a request was refused", "client", r.RemoteAddr, "error", err)
			}
			kubeapi.WriteFailure(w, kubeapi.Failure(http.StatusUnauthorized,
				"only the API server may ask here: its client certificate as a front proxy is missing or not valid"))
		}
	})
}
