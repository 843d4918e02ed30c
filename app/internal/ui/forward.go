// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/kube-lifeline/lifeline/app/internal/cli"
)

const (
	// selector selects the Pods of servers, as the manifests of this project label them.
	selector = "app.kubernetes.io/name=lifeline"
	// DefaultPort is the default port of the API.
	DefaultPort = 7070
	// again is the pause before the restart of a lost port-forward.
	again = time.Second
	// patience bounds a request to the API server.
	patience = 10 * time.Second
)

// search returns the first namespace in which the Pod of a server runs; empty if there is none, or if the user may
// not look for it. An error means that the cluster does not answer.
func (u *UI) search(ctx context.Context, api *rest.RESTClient) (namespace string, err error) {
	for _, namespace := range u.Namespaces {
		switch _, err := u.pod(ctx, api, namespace); {
		case err == nil:
			return namespace, nil
		case errors.Is(err, errNoPod) || apierrors.IsForbidden(err):
		default:
			return "", u.silent(err)
		}
	}
	return "", nil
}

// silent returns the error of a cluster that does not answer, without the URL of the request.
func (u *UI) silent(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", patience)
	}
	return fmt.Errorf("cannot use the cluster of context %s (%s): %w", cli.Shown(u.Kubeconfig.Context()),
		cli.Shown(u.Kubeconfig.Current().Host), err)
}

// forward shows the page of a server in the cluster until ctx ends. After a lost connection, such as at a restart of
// the server, it starts again on the same local port.
func (u *UI) forward(ctx context.Context, api *rest.RESTClient, namespace string) error {
	shown := false
	for {
		pod, err := u.pod(ctx, api, namespace)
		if err == nil {
			err = u.forwardTo(ctx, api, namespace, pod, &shown)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // a signal ends the command
		case !shown:
			return err
		}
		u.Say("the connection to the server has ended (%s); trying again", cli.OneLine(err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}

// pods returns a client for Pods.
func (u *UI) pods() (*rest.RESTClient, error) {
	config := rest.CopyConfig(u.Kubeconfig.Current())
	config.APIPath, config.GroupVersion = "/api", &corev1.SchemeGroupVersion
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.UserAgent = u.UserAgent()
	api, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig: %w", err)
	}
	return api, nil
}

// errNoPod means that no server runs in a namespace.
var errNoPod = errors.New("no Pod of a server")

// pod returns the name of a ready server, or else of one that runs. Without one the error is errNoPod.
func (u *UI) pod(ctx context.Context, api *rest.RESTClient, namespace string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var list corev1.PodList
	err := api.Get().Namespace(namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{LabelSelector: selector}, scheme.ParameterCodec).Do(ctx).Into(&list)
	if err != nil {
		return "", fmt.Errorf("cannot look for a server in namespace %s: %w", cli.Shown(namespace), err)
	}
	running := ""
	for i := range list.Items {
		pod := &list.Items[i]
		switch {
		case pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil:
		case ready(pod):
			return pod.Name, nil
		case running == "":
			running = pod.Name
		}
	}
	if running == "" {
		return "", fmt.Errorf("%w (%s) runs in namespace %s", errNoPod, selector, cli.Shown(namespace))
	}
	return running, nil
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// forwardTo forwards a local port to a Pod until ctx ends or the connection is lost. The first time, it
// shows the page.
func (u *UI) forwardTo(
	ctx context.Context, api *rest.RESTClient, namespace, pod string, shown *bool,
) error {
	dialer, err := u.dialer(
		api.Post().Namespace(namespace).Resource("pods").Name(pod).SubResource("portforward").URL(),
	)
	if err != nil {
		return err
	}
	ready := make(chan struct{})
	remote, failures := cmp.Or(u.RemotePort, DefaultPort), &last{}
	forwarder, err := portforward.NewForStreaming(
		dialer, []string{fmt.Sprintf("%d:%d", u.Port, remote)}, ctx.Done(), ready, io.Discard, failures,
	)
	if err != nil {
		return fmt.Errorf("cannot forward a port: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case err := <-ended:
		return fmt.Errorf("cannot forward a port to Pod %s of namespace %s (--here starts a server in this process): "+
			"%w", cli.Shown(pod), cli.Shown(namespace), lost(err))
	case <-ready:
	}
	ports, err := forwarder.GetPorts()
	if err == nil && !*shown {
		*shown, u.Port = true, ports[0].Local
		u.Say("forwarding to Pod %s of namespace %s; Ctrl-C ends it", cli.Shown(pod), cli.Shown(namespace))
		url, silent := local(ctx, u.Port)
		if silent != nil {
			u.Say("port %d of the Pod does not answer (%s): if its api.address has another port, name it with "+
				"--remote-port", remote, cli.OneLine(cmp.Or(failures.error(), silent)))
		}
		err = u.show(ctx, url)
	}
	if err != nil {
		forwarder.Close()
	}
	return errors.Join(err, lost(<-ended))
}

// lost returns the error of a port-forward that has ended.
func lost(err error) error {
	if err == nil {
		return errors.New("the connection was closed")
	}
	return err
}

// dialer returns a dialer over WebSocket, or over SPDY for API servers that lack it.
func (u *UI) dialer(to *url.URL) (httpstream.Dialer, error) {
	config := u.Kubeconfig.Current()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig for a port-forward: %w", err)
	}
	old := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	current, err := portforward.NewSPDYOverWebsocketDialerForStreaming(to, config)
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig for a port-forward: %w", err)
	}
	return portforward.NewFallbackDialerForStreaming(current, old, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	}), nil
}

// last keeps the last message of a port-forward, which reports the failures of its connections as text.
type last struct {
	mu   sync.Mutex
	text string
}

// Write implements io.Writer.
func (l *last) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := strings.TrimSpace(string(b)); text != "" {
		l.text = text
	}
	return len(b), nil
}

// error returns the last message, or nil.
func (l *last) error() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text == "" {
		return nil
	}
	return errors.New(l.text)
}

// local returns the URL of the forwarded server, and an error if nothing answers there. A server with TLS
// answers plain HTTP with an error that names HTTPS.
func local(ctx context.Context, port uint16) (string, error) {
	at := fmt.Sprintf("http://127.0.0.1:%d", port)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return at, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return at, err
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 256)) // of no use if it fails
	if response.StatusCode == http.StatusBadRequest && strings.Contains(string(text), "HTTPS") {
		return "https" + strings.TrimPrefix(at, "http"), nil
	}
	return at, nil
}
