// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

const (
	// maxKubelets limits the kubelets that are queried.
	maxKubelets = 16
	// maxAnswer bounds a response read into memory, maxMetrics that of /metrics.
	maxAnswer, maxMetrics = 1 << 20, 64 << 20
	// clockSamples is the number of clock readings; each narrows the result.
	clockSamples = 3
)

// versionIn parses the response of /version.
func versionIn(body []byte) (string, error) {
	var v struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := json.Unmarshal(body, &v); err != nil || v.GitVersion == "" {
		return "", errors.New("the answer of /version names none")
	}
	return object.Bound(v.GitVersion), nil
}

// clock compares the Date headers of responses with this machine's clock.
func (g *gatherer) clock(ctx context.Context) Known[Skew] {
	var all *Skew
	for range clockSamples {
		s, err := within(ctx, g.skew)
		if err != nil {
			return unknown[Skew](g.why(err, "ask the time"))
		}
		if all == nil {
			all = &s
		}
		if both := (Skew{Low: max(all.Low, s.Low), High: min(all.High, s.High)}); both.Low <= both.High {
			*all = both
		} // otherwise a clock was set in between
	}
	return known(*all)
}

// skew measures one response.
func (g *gatherer) skew(ctx context.Context) (Skew, error) {
	asked := g.now()
	res, err := g.get(ctx, "/version")
	if err != nil {
		return Skew{}, err
	}
	got := g.now()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	_ = res.Body.Close()
	return skewOf(res.Header.Get("Date"), asked, got)
}

// skewOf compares a Date header, in whole seconds, with the times of the request and the response.
func skewOf(date string, asked, got time.Time) (Skew, error) {
	at, err := http.ParseTime(date)
	if err != nil {
		return Skew{}, errors.New("its answers have no Date")
	}
	return Skew{Low: at.Sub(got).Seconds(), High: at.Add(time.Second).Sub(asked).Seconds()}, nil
}

// get requests a path as the caller.
func (g *gatherer) get(ctx context.Context, path string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet,
		g.client.Discovery().RESTClient().Get().AbsPath(path).URL().String(), nil)
	if err != nil {
		return nil, err
	}
	return g.http.Do(req)
}

// auditMetric counts audit events, of all policies and backends.
const auditMetric = "apiserver_audit_event_total"

// audited reads the number of the API server's audit events.
func (g *gatherer) audited(ctx context.Context) Known[float64] {
	n, err := within(ctx, func(ctx context.Context) (float64, error) {
		body, err := g.client.Discovery().RESTClient().Get().AbsPath("/metrics").Stream(ctx)
		if err != nil {
			return 0, err
		}
		defer body.Close()
		return metricIn(body, auditMetric)
	})
	if err != nil {
		return unknown[float64](g.why(err, "get /metrics of the API server"))
	}
	return known(n)
}

// metricIn finds a metric without labels in Prometheus text.
func metricIn(text io.Reader, name string) (float64, error) {
	lines := bufio.NewScanner(io.LimitReader(text, maxMetrics))
	lines.Buffer(nil, maxAnswer)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), name+" "); ok {
			value, _, _ = strings.Cut(value, " ") // a timestamp may follow
			return strconv.ParseFloat(value, 64)
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("there is no %s", name)
}

// kubelets reads the tracing configuration of some kubelets.
func (g *gatherer) kubelets(ctx context.Context, nodes Known[[]Node]) Known[[]Kubelet] {
	if !nodes.Is() {
		return unknown[[]Kubelet](nodes.Unknown)
	}
	var names []string
	for _, n := range nodes.Value {
		if n.Provider != Kwok && !n.Serverless {
			names = append(names, n.Name)
		}
	}
	slices.Sort(names)
	names = spread(names, maxKubelets)
	found := make([]*Kubelet, len(names))
	failed := make([]error, len(names))
	each(len(names), func(i int) {
		found[i], failed[i] = within(ctx, func(ctx context.Context) (*Kubelet, error) {
			body, err := g.client.CoreV1().RESTClient().Get().Resource("nodes").Name(names[i]).SubResource("proxy",
				"configz").Stream(ctx)
			if err != nil {
				return nil, err
			}
			defer body.Close()
			text, err := io.ReadAll(io.LimitReader(body, maxAnswer))
			if err != nil {
				return nil, err
			}
			return kubeletIn(names[i], text)
		})
	})
	out := []Kubelet{}
	for _, k := range found {
		if k != nil {
			out = append(out, *k)
		}
	}
	for _, err := range failed {
		if err != nil && len(out) == 0 {
			return unknown[[]Kubelet](g.why(err, "get nodes/proxy (the kubelets' configuration)"))
		}
	}
	return known(out)
}

// kubeletIn parses the response of /configz; it keeps only tracing.
func kubeletIn(node string, text []byte) (*Kubelet, error) {
	var answer struct {
		Config *struct {
			Tracing *struct {
				Endpoint *string `json:"endpoint"`
				Rate     *int64  `json:"samplingRatePerMillion"`
			} `json:"tracing"`
		} `json:"kubeletconfig"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Config == nil {
		return nil, errors.New("the kubelet's answer holds no configuration")
	}
	k := &Kubelet{Node: node}
	if t := answer.Config.Tracing; t != nil {
		k.Tracing = &Tracing{}
		if t.Endpoint != nil {
			k.Tracing.Endpoint = object.Bound(*t.Endpoint)
		}
		if t.Rate != nil {
			k.Tracing.Rate = *t.Rate
		}
	}
	return k, nil
}

// spread selects at most n of names, evenly.
func spread(names []string, n int) []string {
	if len(names) <= n {
		return names
	}
	out := make([]string, n)
	for i := range out {
		out[i] = names[i*len(names)/n]
	}
	return out
}

// each calls f for 0 to n-1, several concurrently, and waits for all.
func each(n int, f func(int)) {
	var all sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			f(i)
		})
	}
	all.Wait()
}

// rights checks which of the resources to watch the caller may list and watch. A caller who may not do so with the
// Pods of all namespaces, but with those of the own one, works in that: its resources count alone.
func (g *gatherer) rights(ctx context.Context) Known[Rights] {
	offered, err := within(ctx, func(ctx context.Context) ([]watch.Offered, error) {
		return watch.Offers(ctx, watch.Config{REST: g.conf, Warn: func(string, ...any) {}})
	})
	if err != nil {
		return unknown[Rights](g.why(err, "ask which resources there are"))
	}
	offered = slices.DeleteFunc(offered, func(o watch.Offered) bool { return o.Group == "" && o.Resource == "secrets" })
	all := g.rightsIn(ctx, "", offered)
	if g.namespace == "" || !slices.Contains(all.Value.Denied, podsName) {
		return all
	}
	offered = slices.DeleteFunc(offered, func(o watch.Offered) bool { return !o.Namespaced })
	own := g.rightsIn(ctx, g.namespace, offered)
	if !own.Is() || slices.Contains(own.Value.Denied, podsName) {
		return all
	}
	return own
}

// podsName is the name of the resource of Pods in Rights.
const podsName = "pods"

// rightsIn checks the rights in a namespace; "" means all.
func (g *gatherer) rightsIn(ctx context.Context, namespace string, offered []watch.Offered) Known[Rights] {
	denied := make([]bool, len(offered))
	failed := make([]error, len(offered))
	each(len(offered), func(i int) {
		for _, verb := range []string{"list", "watch"} {
			allowed, err := g.may(ctx, verb, namespace, offered[i])
			if err != nil {
				failed[i] = err
				return
			}
			denied[i] = denied[i] || !allowed
		}
	})
	out := Rights{Resources: len(offered), Namespace: object.Bound(namespace)}
	for i, o := range offered {
		if failed[i] != nil {
			return unknown[Rights](g.why(failed[i], "ask it what you may do"))
		}
		if denied[i] {
			out.Denied = append(out.Denied, object.Bound(o.String()))
		}
	}
	return known(out)
}

func (g *gatherer) may(ctx context.Context, verb, namespace string, o watch.Offered) (bool, error) {
	return within(ctx, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: verb, Group: o.Group, Resource: o.Resource,
			},
		}}
		answer, err := g.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return false, err
		}
		return answer.Status.Allowed, nil
	})
}
