// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"fmt"
	"net/http"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/identity"
	"github.com/kube-lifeline/lifeline/app/internal/kubeapi"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/certificate"
)

// rights are the parts of a server whose callers see what the cluster lets them see. A nil value guards nothing.
type rights struct {
	permitting *permitting
	callers    *identity.Authenticator
	// aggregated are the callers of at, the listener behind the API server; nil without one.
	aggregated *identity.Authenticator
	listener   *listening
	// secret has the certificates of that listener; nil if they are in files.
	secret *certificate.Keeper
	fail   func(error)
	up     parts
}

func newRights(
	c *config.APIConfiguration, conf *rest.Config, namespace string, gate *store.Gate,
	namespaces func(context.Context) ([]string, error), s *settings, fail func(error),
) (*rights, error) {
	conf = rest.CopyConfig(conf)
	conf.QPS = -1 // the checks of tokens have a bound of their own
	client, err := kubernetes.NewForConfig(conf)
	if err != nil {
		return nil, err
	}
	r := &rights{fail: fail}
	if r.permitting, err = newPermitting(gate, conf, namespaces, s); err != nil {
		return nil, err
	}
	if r.callers, err = newCallers(c, client); err != nil {
		return nil, err
	}
	if c.Aggregation.Address == "" {
		return r, nil
	}
	r.listener = &listening{
		purpose: "the API behind the API server", fields: "api.aggregation", log: s.log,
		task: task{name: "aggregation", fail: fail},
	}
	var certificates certified
	if name := c.Aggregation.Secret; name != "" {
		r.secret, err = certificate.New(certificate.Options{
			Follow: true, Client: client, Namespace: namespace, Secret: name, For: "API", Log: s.log,
		})
		if err != nil {
			return nil, fmt.Errorf("%w (api.aggregation.secret)", err)
		}
		certificates = r.secret
	}
	r.aggregated, r.listener.at, err = newAggregated(c.Aggregation, client, certificates)
	return r, err
}

// guard returns the handler of api.address: it knows each caller.
func (r *rights) guard(answers *api.Server) http.Handler {
	if r == nil {
		return answers
	}
	return closing{r.callers.Wrap(r.permitting.wrap(answers)), answers}
}

// behind sets what the listener behind the API server answers, once the gate is open.
func (r *rights) behind(g *gate, answers *api.Server, o kubeapi.Options) {
	if r != nil && r.listener != nil {
		h := kubeapi.Handler(g.before(answers), o)
		r.listener.handler = closing{r.aggregated.Wrap(r.permitting.wrap(h)), answers}
	}
}

// check is a check of health.
func (r *rights) check() error {
	if r == nil {
		return nil
	}
	return r.permitting.check()
}

// Start implements part. It follows certificate authorities, and listens behind the API server.
func (r *rights) Start(ctx context.Context) error {
	if r == nil {
		return nil
	}
	all := []part{&task{name: "callers", run: r.callers.Run, fail: r.fail}}
	if r.secret != nil {
		all = append(all, &task{name: "certificate", run: r.secret.Run, fail: r.fail})
	}
	if r.listener != nil {
		all = append(all, &task{name: "callers behind the API server", run: r.aggregated.Run, fail: r.fail}, r.listener)
	}
	if err := r.up.start(ctx, all...); err != nil {
		_ = r.up.stop()
		return err
	}
	return nil
}

// Stop implements part.
func (r *rights) Stop() error {
	if r == nil {
		return nil
	}
	return r.up.stop()
}
