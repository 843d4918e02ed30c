// SPDX-License-Identifier: Apache-2.0

// Package leasetest is a fake API server with Leases. It is client-go's fake clientset, with
// rejection of stale resourceVersions as in a real server, and connections that fail on demand.
package leasetest

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

// ErrDown is the error of every request over a Client that is down.
var ErrDown = errors.New("connection refused")

// Server is the fake API server. It is safe for concurrent use.
type Server struct {
	fake *fake.Clientset

	mu sync.Mutex
	rv uint64
}

// New returns a Server without objects. Its first resourceVersion is 1.
func New() *Server {
	s := &Server{fake: fake.NewClientset()}
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

// Client returns a new connection to s.
func (s *Server) Client() *Client { return &Client{LeasesGetter: s.fake.CoordinationV1()} }

// Client is a connection. It is safe for concurrent use.
type Client struct {
	coordinationclient.LeasesGetter

	mu       sync.Mutex
	down     bool
	requests int
}

// SetDown makes all further requests fail, or none.
func (c *Client) SetDown(down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = down
}

// Requests returns the number of requests, failed ones included.
func (c *Client) Requests() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.requests
}

func (c *Client) ask() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.down {
		return ErrDown
	}
	return nil
}

// Leases implements coordinationclient.LeasesGetter.
func (c *Client) Leases(namespace string) coordinationclient.LeaseInterface {
	return &leases{LeaseInterface: c.LeasesGetter.Leases(namespace), c: c}
}

type leases struct {
	coordinationclient.LeaseInterface
	c *Client
}

func (l *leases) Get(ctx context.Context, name string, o metav1.GetOptions) (*coordinationv1.Lease, error) {
	if err := l.c.ask(); err != nil {
		return nil, err
	}
	return l.LeaseInterface.Get(ctx, name, o)
}

func (l *leases) List(ctx context.Context, o metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	if err := l.c.ask(); err != nil {
		return nil, err
	}
	return l.LeaseInterface.List(ctx, o)
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

func (l *leases) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if err := l.c.ask(); err != nil {
		return err
	}
	return l.LeaseInterface.Delete(ctx, name, o)
}
