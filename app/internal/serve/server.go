// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/archive"
	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/export"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/notice"
	"github.com/kube-lifeline/lifeline/app/internal/received"
	"github.com/kube-lifeline/lifeline/app/internal/relation"
	"github.com/kube-lifeline/lifeline/app/internal/source/announcement"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/source/watch"
	"github.com/kube-lifeline/lifeline/app/internal/telemetry"
	"github.com/kube-lifeline/lifeline/app/internal/view"
	"github.com/kube-lifeline/lifeline/app/internal/webhook/serving"
)

const (
	// backlog bounds the observations that wait for the loop.
	backlog = 4096
	// sendPatience bounds the last sending of spans.
	sendPatience = 10 * time.Second
)

// server is the parts of `lifeline serve` and their shared state.
type server struct {
	opts  Options
	log   *slog.Logger
	level *slog.LevelVar
	// conf is the configuration in effect.
	conf atomic.Pointer[config.ServerConfiguration]

	metrics *telemetry.Metrics
	health  telemetry.Health
	hub     api.Hub
	gate    gate

	cluster string
	clock   *clock
	// journal has the state of this process, archive the finished traces, and view answers about
	// all.
	journal *journal.Journal
	archive *archive.Writer
	view    *view.View
	// archiveReports has the reports of damage in the archive, and archiveDamage the last of them
	// until the archive is open again. Only the archive's writer uses them.
	archiveReports database.Reports
	archiveDamage  error
	outbox         *export.Outbox
	// passing sends the spans without a change; nil if none are received.
	passing  *export.Exporter
	receiver atomic.Pointer[otlp.Receiver]
	auditing atomic.Pointer[auditing]
	// announcements receives the commands that lifeline run announces; nil before its start.
	announcements atomic.Pointer[announcement.Receiver]
	// webhook answers the API server's admission calls; nil if not configured. opened is its view
	// of the loop.
	webhook *serving.Server
	opened  opened
	// joined has the counts of the last look.
	joined atomic.Pointer[joiningStats]
	// counts are the failed and stuck changes, and notices tells a webhook about them; nil without one.
	counts  notice.Counts
	notices *notice.Sender
	// received counts the received data.
	received *received.Tally
	watcher  *watch.Watcher
	// declared are the relations of the configuration, and related the number of related pairs of
	// each.
	declared *relation.Set
	related  atomic.Pointer[map[string]uint64]
	member   member
	behind   behind

	loop *loop
	// fail ends the server with an error. running is true when all parts have started.
	fail    context.CancelCauseFunc
	running atomic.Bool
	// state is the data of health and info.
	state state
	// writable answers senders while the journal cannot be written.
	writable writable
}

// state is the state of the server. It is safe for concurrent use.
type state struct {
	mu sync.Mutex
	// asOf is the time of the stored traces. looked is the wall-clock time of the loop's last
	// round.
	asOf, looked time.Time
	// watching is the time since which this process watches the cluster; zero before the first
	// lists are complete.
	watching time.Time
	// trouble is the error of the last look, and logged the last logged error.
	trouble error
	logged  string
	// archiveTrouble is the error of the archive's last attempt.
	archiveTrouble error
	// lost is the reason for the replacement of a file at lostAt, while the server ran.
	lost   error
	lostAt time.Time
	// waitsFor is the missing part of a server that is not ready.
	waitsFor string
	open     int
	inputs   int
}

func (s *state) set(f func(*state)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(s)
}

func newServer(o Options) (*server, error) {
	s, err := newBase(o)
	if err != nil {
		return nil, err
	}
	if fields := o.Config.Confidential(); len(fields) > 0 {
		s.log.Warn("traces show values that may be confidential (showValues)", "fields", strings.Join(fields, ", "))
	}
	s.state.waitsFor = "the API server"
	s.health.Live("loop", s.alive)
	s.health.Ready("watch", s.watching)
	s.health.Ready("store", s.storing)
	s.health.Ready("API", s.answering)
	s.health.Note("stored traces", s.keeping)
	s.health.Note("archive", s.archiving)
	s.health.Note("API server", s.reaching)
	s.health.Note("backend", s.delivering)
	return s, nil
}

// newBase makes the parts of every server, with or without a loop.
func newBase(o Options) (*server, error) {
	out := io.Writer(os.Stderr)
	if o.Log != nil {
		out = o.Log
	}
	log, level, err := telemetry.NewLogger(out, o.Config.Log.Level, o.Config.Log.Format)
	if err != nil {
		return nil, err
	}
	s := &server{opts: o, log: log, level: level, declared: o.Config.Declared()}
	s.opts.Version = cmp.Or(o.Version, "devel")
	s.conf.Store(o.Config)
	s.metrics = telemetry.NewMetrics(s.refresh)
	s.gate.metrics = s.metrics
	s.gate.page = s.newPage()
	s.webhook = s.newWebhook()
	telemetry.RouteKlog(log)
	slog.SetDefault(log) // for code without a logger of its own
	return s, nil
}

// answerTime bounds an answer of the telemetry listener. profileTime bounds a profile, whose client
// chooses the duration. A client that does not read is cut off.
const answerTime, profileTime = 30 * time.Second, 10 * time.Minute

func bounded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		patience := answerTime
		if strings.HasPrefix(r.URL.Path, "/debug/") {
			patience = profileTime
		}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
		h.ServeHTTP(w, r)
	})
}

// plainError writes an error response as text.
func plainError(w http.ResponseWriter, code int, message string) { http.Error(w, message, code) }

// hostOf returns the name or address in host:port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	return host
}

// run starts the parts in order, waits for the end, and stops them in reverse order.
func (s *server) run(ctx context.Context) (err error) {
	apiListener, err := s.listenAPI(ctx)
	if err != nil {
		return err
	}
	defer apiListener.Close()
	telemetryListener, err := s.listenTelemetry(ctx)
	if err != nil {
		return err
	}
	defer telemetryListener.Close()
	s.log.Info("lifeline serve starts", "version", s.opts.Version, "telemetry", telemetryListener.Addr().String())

	ctx, s.fail = context.WithCancelCause(ctx)
	defer s.fail(nil)
	up := newTasks(ctx, s.fail)
	defer up.end()
	s.serveTelemetry(up, telemetryListener)
	up.start("API", func(ctx context.Context) error { return httpserve.Serve(ctx, apiListener, &s.gate) })
	if err := s.admit(up); err != nil {
		return err
	}
	conf, cluster, err := s.identify(ctx)
	if err != nil {
		return over(ctx, err)
	}
	s.cluster = cluster
	if s.member.identity, err = identity(s.conf.Load().Replicas); err != nil {
		return err
	}
	recorder, err := s.openStorage(ctx)
	if err != nil {
		return over(ctx, err)
	}
	defer func() { err = errors.Join(err, s.journal.Close()) }()
	handler, err := s.newAPI()
	if err != nil {
		return err
	}
	up.start("API", func(ctx context.Context) error { return s.openAPI(ctx, handler, apiListener.Addr().String()) })
	return s.work(ctx, up, recorder, conf)
}

// serveTelemetry serves metrics and health.
func (s *server) serveTelemetry(up *tasks, ln net.Listener) {
	up.start("telemetry", func(ctx context.Context) error {
		c := s.conf.Load().Telemetry
		h := telemetry.Handler(telemetry.HandlerOptions{Metrics: s.metrics, Health: &s.health, Pprof: c.Pprof})
		return httpserve.Serve(ctx, ln, httpserve.GuardHost(bounded(h), plainError, hostOf(c.Address)))
	})
}

// work watches until ctx ends.
func (s *server) work(ctx context.Context, up *tasks, recorder *restored, conf *rest.Config) (err error) {
	endArchive := s.startArchive()
	defer func() { err = errors.Join(err, endArchive()) }()
	if err := s.openOutbox(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.closeOutbox()) }()
	defer s.startMaintenance(ctx)()
	s.loop = newLoop(s, recorder.recorder)
	if err := s.newWatcher(conf, recorder.recorder); err != nil {
		return err
	}
	if s.conf.Load().Replicas.Mode == config.ModeStandby && len(recorder.at) == 0 {
		s.member.came.Store(math.MaxInt64) // until the first lists are complete
	}
	s.takeAnnouncements(up, recorder.recorder.engine.Running())
	s.sendNotices(up, recorder.Notices)
	s.running.Store(true)
	looping := make(chan error, 1)
	go func() { looping <- s.loop.run() }()
	quiet := s.listenTo(ctx, s.receive, s.audit)
	leave, err := s.join(ctx, conf)
	if err != nil {
		s.fail(err)
		leave = func() {}
	}
	up.start("retention", s.retain)
	up.start("salvage", s.salvage)
	up.start("journal", s.completeJournal)
	up.start("configuration", s.followConfig)
	up.start("watch", s.watch)

	<-ctx.Done()
	s.log.Info("lifeline serve stops and stores its observations")
	quiet()
	leave()
	<-s.watcher.Flush(flushTime)
	s.loop.stop()
	s.watcher.Close()
	close(s.loop.ended)
	return errors.Join(over(ctx, nil), <-looping)
}

// over returns the error of a run whose context has ended: nil after a regular end.
func over(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if errors.Is(cause, context.Canceled) {
			return nil
		}
		return cause
	}
	return err
}

// listenAPI and listenTelemetry open the listeners for people and scrapers. Their errors name the
// fields of the configuration.
func (s *server) listenAPI(ctx context.Context) (net.Listener, error) {
	c := s.conf.Load().API
	at := endpoint(config.EndpointConfiguration{Address: c.Address, TokenFile: c.TokenFile, TLS: c.TLS})
	at.Private = true
	const name, fields = "the API", "api.address, api.tls, api.tokenFile"
	var err error
	if s.gate.token, err = at.Token(httpserve.Purpose{Name: name, Log: s.log}); err != nil {
		return nil, fmt.Errorf("%w (%s)", err, fields)
	}
	return s.listen(ctx, at, name, fields)
}

func (s *server) listenTelemetry(ctx context.Context) (net.Listener, error) {
	at := httpserve.Endpoint{Address: s.conf.Load().Telemetry.Address, Insecure: true}
	return s.listen(ctx, at, "metrics and health", "telemetry.address")
}

func (s *server) listen(ctx context.Context, at httpserve.Endpoint, name, fields string) (net.Listener, error) {
	ln, err := at.Listen(ctx, httpserve.Purpose{
		Name: name, MaxConnections: httpserve.MaxConnections, Protocols: []string{"http/1.1"}, Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("%w (%s)", err, fields)
	}
	return ln, nil
}

// tasks are goroutines that end together. The first that fails ends all.
type tasks struct {
	ctx     context.Context
	cancel  context.CancelFunc
	fail    context.CancelCauseFunc
	running sync.WaitGroup
}

// newTasks returns tasks that outlive ctx until end is called. So the metrics and the health of the
// server stay available while it stops.
func newTasks(ctx context.Context, fail context.CancelCauseFunc) *tasks {
	t := &tasks{fail: fail}
	t.ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return t
}

func (t *tasks) start(what string, f func(context.Context) error) {
	t.running.Go(func() {
		if err := f(t.ctx); err != nil && t.ctx.Err() == nil {
			t.fail(fmt.Errorf("%s: %w", what, err))
		}
	})
}

func (t *tasks) end() {
	t.cancel()
	t.running.Wait()
}
