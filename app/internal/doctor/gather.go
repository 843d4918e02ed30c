// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/registration"
)

const (
	// patience bounds one request to the API server.
	patience = 10 * time.Second
	// nodePage and maxNodes bound the list of nodes.
	nodePage, maxNodes = 500, 5000
	// atOnce limits the concurrent requests.
	atOnce = 8
)

// gatherer queries one API server.
type gatherer struct {
	conf   *rest.Config
	client *kubernetes.Clientset
	http   *http.Client
	now    func() time.Time
	names  bool
	// namespace is that of the user.
	namespace string
	// user is the name to hide, once it is known.
	user string
}

// gatherCluster gathers facts from the API server of conf. Names of users are hashed unless names
// is set. A failed request makes its fact unknown. If the API server does not answer, the whole
// result is unknown. It probes the way to the webhook to, unless that is nil.
func gatherCluster(
	ctx context.Context, conf *rest.Config, namespace string, now func() time.Time, names bool,
	to *registration.Options,
) Known[Cluster] {
	conf = rest.CopyConfig(conf)
	conf.QPS, conf.Burst = 50, 100 // a few dozen requests, once
	g := &gatherer{conf: conf, now: now, names: names, namespace: namespace}
	var err error
	if g.http, err = rest.HTTPClientFor(conf); err == nil {
		g.client, err = kubernetes.NewForConfigAndClient(conf, g.http)
	}
	if err != nil {
		return unknown[Cluster](g.why(err, "read the connection to the cluster"))
	}
	defer g.http.CloseIdleConnections()
	version, err := within(ctx, func(ctx context.Context) (string, error) {
		body, err := g.client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
		if err != nil {
			return "", err
		}
		return versionIn(body)
	})
	if err != nil {
		return unknown[Cluster](g.why(err, "ask it its version"))
	}
	c := Cluster{Version: version}
	c.User = g.whoAmI(ctx)
	var all sync.WaitGroup
	all.Go(func() { c.Clock = g.clock(ctx) })
	all.Go(func() { c.Audited = g.audited(ctx) })
	all.Go(func() { c.Rights = g.rights(ctx) })
	all.Go(func() { c.Webhook = g.webhook(ctx) })
	all.Go(func() { c.APIServers, c.Etcds, c.Schedulers = g.controlPlane(ctx) })
	all.Go(func() {
		c.Nodes = g.nodes(ctx)
		c.Kubelets = g.kubelets(ctx, c.Nodes)
	})
	all.Wait()
	if to != nil {
		path := probe(ctx, g, *to)
		c.Path = &path
	}
	return known(c)
}

// within runs a request with a timeout.
func within[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return ask(ctx)
}

// why returns one line with the reason of an error. It omits addresses and the caller's name, which
// the API server repeats.
func (g *gatherer) why(err error, what string) string {
	var asked *url.Error
	switch {
	case apierrors.IsForbidden(err):
		return "you may not " + what
	case apierrors.IsUnauthorized(err):
		return "the API server does not know you (Unauthorized)"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("cannot %s: no answer within %s", what, patience)
	case errors.As(err, &asked):
		err = asked.Err
	}
	text := fmt.Sprintf("cannot %s: %s", what, object.Bound(err.Error()))
	if g.user != "" && !g.names {
		text = strings.ReplaceAll(text, g.user, hashed(g.user))
	}
	return text
}

func (g *gatherer) whoAmI(ctx context.Context) Known[string] {
	review, err := within(ctx, func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
		return g.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{},
			metav1.CreateOptions{})
	})
	if err != nil {
		return unknown[string](g.why(err, "ask it for whom it takes you"))
	}
	g.user = object.Bound(review.Status.UserInfo.Username)
	if g.names {
		return known(g.user)
	}
	return known(hashed(g.user))
}

func (g *gatherer) nodes(ctx context.Context) Known[[]Node] {
	found := []Node{}
	o := metav1.ListOptions{Limit: nodePage}
	for {
		page, err := within(ctx, func(ctx context.Context) (*corev1.NodeList, error) {
			return g.client.CoreV1().Nodes().List(ctx, o)
		})
		if err != nil {
			return unknown[[]Node](g.why(err, "list nodes"))
		}
		for i := range page.Items {
			found = append(found, nodeOf(&page.Items[i]))
		}
		if o.Continue = page.Continue; o.Continue == "" || len(found) >= maxNodes {
			return known(found)
		}
	}
}

func nodeOf(n *corev1.Node) Node {
	info := n.Status.NodeInfo
	return Node{
		Name: object.Bound(n.Name), Kubelet: object.Bound(info.KubeletVersion),
		Runtime:  object.Bound(info.ContainerRuntimeVersion),
		Provider: providerOf(n.Labels, n.Annotations, info.KubeletVersion), Serverless: serverless(n.Labels),
		Drivers: driversOf(n.Annotations[annotationDrivers]), Devices: devicesOf(n.Status.Capacity),
	}
}

// annotationDrivers has a JSON object with the node's ID in each CSI driver of its kubelet.
const annotationDrivers = "csi.volume.kubernetes.io/nodeid"

// maxNames bounds the CSI drivers of a node, and its extended resources.
const maxNames = 32

func driversOf(annotation string) []string {
	var ids map[string]string
	if json.Unmarshal([]byte(annotation), &ids) != nil {
		return nil
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		if len(out) < maxNames {
			out = append(out, object.Bound(name))
		}
	}
	return out
}

// devicesOf returns the extended resources of a node: those with a domain that is not one of Kubernetes. It
// skips those of an absent plugin, with a capacity of 0.
func devicesOf(capacity corev1.ResourceList) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(capacity)) {
		domain, _, extended := strings.Cut(string(name), "/")
		count := capacity[name]
		if !extended || count.IsZero() || len(out) >= maxNames ||
			domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
			continue
		}
		out = append(out, object.Bound(string(name)))
	}
	return out
}

// controlPlane reads the flags of API servers and etcds that run as Pods, and the versions of
// schedulers.
func (g *gatherer) controlPlane(ctx context.Context) (apiServers, etcds, schedulers Known[[]Process]) {
	pods, err := within(ctx, func(ctx context.Context) (*corev1.PodList, error) {
		return g.client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{
			LabelSelector: "tier=control-plane", Limit: nodePage,
		})
	})
	if err != nil {
		why := g.why(err, "list pods in kube-system")
		return unknown[[]Process](why), unknown[[]Process](why), unknown[[]Process](why)
	}
	return known(processes(pods.Items, "kube-apiserver", apiServerFlags)),
		known(processes(pods.Items, "etcd", etcdFlags)),
		known(processes(pods.Items, "kube-scheduler", nil))
}

// The flags to read. Others may hold confidential values.
var (
	apiServerFlags = []string{
		"tracing-config-file", "audit-policy-file", "audit-log-path", "audit-webhook-config-file",
		"audit-webhook-batch-max-wait", "audit-webhook-mode",
	}
	etcdFlags = []string{
		"enable-distributed-tracing", "distributed-tracing-address", "distributed-tracing-sampling-rate",
		"distributed-tracing-instance-id",
	}
)

// processes are those of a component among pods, by node.
func processes(pods []corev1.Pod, component string, flags []string) []Process {
	out := []Process{}
	for i := range pods {
		pod := &pods[i]
		if pod.Labels["component"] != component {
			continue
		}
		for _, container := range pod.Spec.Containers {
			if container.Name != component {
				continue
			}
			_, tag, _ := cutLast(container.Image, ":")
			out = append(out, Process{
				Node: object.Bound(pod.Spec.NodeName), Version: object.Bound(tag),
				Flags: flagsOf(append(slices.Clone(container.Command), container.Args...), flags),
			})
		}
	}
	slices.SortFunc(out, func(a, b Process) int { return strings.Compare(a.Node, b.Node) })
	return out
}

// flagsOf parses flags of a command: --name=value, and --name alone as true. An experimental flag
// is returned under its later name.
func flagsOf(command, flags []string) map[string]string {
	out := map[string]string{}
	for i, arg := range command {
		name, isFlag := strings.CutPrefix(arg, "--")
		if !isFlag {
			continue
		}
		name, value, given := strings.Cut(name, "=")
		name = strings.TrimPrefix(name, "experimental-")
		if !slices.Contains(flags, name) {
			continue
		}
		if !given {
			value = "true"
			if name != "enable-distributed-tracing" && i+1 < len(command) && !strings.HasPrefix(command[i+1], "-") {
				value = command[i+1]
			}
		}
		out[name] = object.Bound(value)
	}
	return out
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
