package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/app/internal/render"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		panic(err)
	}
	f, _ := os.Create(os.Args[1])
	wr, err := observation.NewWriter(f, observation.Header{Cluster: "x", Started: time.Now()})
	if err != nil {
		panic(err)
	}
	e := lifecycle.New(lifecycle.Options{Cluster: "x"})
	w, err := watch.New(watch.Config{REST: cfg, Emit: func(o *observation.Observation) { wr.Write(o); e.Observe(o) }, Warn: func(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }})
	if err != nil {
		panic(err)
	}
	w.Watch(ctx, watch.Scope{Namespaces: []string{"default"}})
	<-ctx.Done()
	w.Close()
	wr.Flush()
	render.Tree(os.Stdout, e.Traces(time.Now()), render.Options{Width: 140, Now: time.Now()})
}
