// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"strconv"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	clienttesting "k8s.io/client-go/testing"
)

// errDown is the error of every request over a client that is down.
var errDown = errors.New("connection refused")

// server is a fake API server with Leases. It is client-go's fake clientset, and rejects stale
// resourceVersions like a real server. It is safe for concurrent use.
type server struct {
	fake *fake.Clientset

	mu sync.Mutex
	rv uint64
}

// newServer returns a server without objects. Its first resourceVersion is 1.
func newServer() *server {
	s := &server{fake: fake.NewClientset()}
	resource := coordinationv1.SchemeGroupVersion.WithResource("leases")
	s.fake.PrependReactor("create", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		lease := a.(clienttesting.CreateAction).GetObject().(*coordinationv1.Lease).DeepCopy()
		s.rv++
		lease.ResourceVersion = strconv.FormatUint(s.rv, 10)
		err := s.fake.Tracker().Create(resource, lease, a.GetNamespace())
		return true, lease, err
	})
	s.fake.PrependReactor("update", "leases", func(a clienttesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		lease := a.(clienttesting.UpdateAction).GetObject().(*coordinationv1.Lease).DeepCopy()
		known, err := s.fake.Tracker().Get(resource, a.GetNamespace(), lease.Name)
		if err != nil {
			return true, nil, err
		}
		if have := known.(*coordinationv1.Lease).ResourceVersion; lease.ResourceVersion != "" &&
			lease.ResourceVersion != have {
			return true, nil, apierrors.NewConflict(resource.GroupResource(), lease.Name,
				errors.New("the object has been modified"))
		}
		s.rv++
		lease.ResourceVersion = strconv.FormatUint(s.rv, 10)
		err = s.fake.Tracker().Update(resource, lease, a.GetNamespace())
		return true, lease, err
	})
	return s
}

// client returns a new connection to s.
func (s *server) client() *client { return &client{LeasesGetter: s.fake.CoordinationV1()} }

// client is a connection. It is safe for concurrent use.
type client struct {
	coordinationclient.LeasesGetter

	mu   sync.Mutex
	down bool
}

// setDown makes all further requests fail, or none.
func (c *client) setDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

func (c *client) ask() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.down {
		return errDown
	}
	return nil
}

// Leases implements coordinationclient.LeasesGetter.
func (c *client) Leases(namespace string) coordinationclient.LeaseInterface {
	return &leases{LeaseInterface: c.LeasesGetter.Leases(namespace), c: c}
}

type leases struct {
	coordinationclient.LeaseInterface
	c *client
}

func (l *leases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := l.c.ask(); err != nil {
		return nil, err
	}
	return l.LeaseInterface.Get(ctx, name, o)
}

func (l *leases) Create(
	ctx context.Context, lease *coordinationv1.Lease, o metav1.CreateOptions,
) (*coordinationv1.Lease, error) {
	if err := l.c.ask(); err != nil {
		return nil, err
	}
	return l.LeaseInterface.Create(ctx, lease, o)
}

func (l *leases) Update(
	ctx context.Context, lease *coordinationv1.Lease, o metav1.UpdateOptions,
) (*coordinationv1.Lease, error) {
	if err := l.c.ask(); err != nil {
		return nil, err
	}
	return l.LeaseInterface.Update(ctx, lease, o)
}
