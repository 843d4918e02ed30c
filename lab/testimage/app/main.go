// SPDX-License-Identifier: Apache-2.0

// Command app is the only program in the lab's test images. Its environment
// decides how it behaves; the package testimage documents the variables. It
// uses the standard library alone, so that it can be built anywhere.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// misuse is the exit code for an environment that cannot be understood.
const misuse = 64

// readHeaderTimeout bounds how long a client may take to ask.
const readHeaderTimeout = 10 * time.Second

type settings struct {
	startDelay, readyDelay, lifetime, termDelay, busy time.Duration

	exitCode int
	memory   uint64
	port     string
}

func main() {
	cfg, err := settingsFrom(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(misuse)
	}
	if len(os.Args) > 1 && os.Args[1] == "ready" {
		os.Exit(askReady(context.Background(), cfg.port))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code, err := run(ctx, cfg)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// run lives as cfg says and returns the exit code.
func run(ctx context.Context, cfg settings) (int, error) {
	end := make(<-chan time.Time)
	if cfg.lifetime > 0 {
		end = time.After(cfg.lifetime)
	}
	started := time.After(cfg.startDelay)
	go work(ctx, cfg.busy)
	held := hold(cfg.memory)
	defer runtime.KeepAlive(held)
	failed := make(chan error, 1)
	for {
		select {
		case <-started:
			if err := serve(cfg, failed); err != nil {
				return 1, err
			}
		case err := <-failed:
			return 1, err
		case <-end:
			fmt.Printf("ending after %s with code %d\n", cfg.lifetime, cfg.exitCode)
			return cfg.exitCode, nil
		case <-ctx.Done():
			fmt.Printf("asked to stop, taking %s\n", cfg.termDelay)
			time.Sleep(cfg.termDelay)
			return 0, nil
		}
	}
}

// work keeps a fifth of one CPU busy for a time.
func work(ctx context.Context, duration time.Duration) {
	const turn, share = 10 * time.Millisecond, 2 * time.Millisecond
	end := time.Now().Add(duration)
	for ctx.Err() == nil && time.Now().Before(end) {
		for begin := time.Now(); time.Since(begin) < share; {
		}
		time.Sleep(turn - share)
	}
}

// hold takes memory and writes to each page of it.
func hold(bytes uint64) []byte {
	const page = 4096
	held := make([]byte, bytes)
	for i := 0; i < len(held); i += page {
		held[i] = 1
	}
	return held
}

// serve starts the HTTP server if there is a port. failed receives the error
// that ends the server later.
func serve(cfg settings, failed chan<- error) error {
	if cfg.port == "" {
		fmt.Println("started")
		return nil
	}
	listener, err := net.Listen("tcp", ":"+cfg.port)
	if err != nil {
		return err
	}
	ready := time.Now().Add(cfg.readyDelay)
	mux := http.NewServeMux()
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if time.Now().Before(ready) {
			http.Error(w, "not ready yet", http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		host, _ := os.Hostname()
		fmt.Fprintln(w, host)
	})
	fmt.Printf("listening on %s\n", listener.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: readHeaderTimeout}
	go func() { failed <- server.Serve(listener) }()
	return nil
}

// askReady is the exec form of a readiness probe: 0 if the server in the same
// container is ready.
func askReady(ctx context.Context, port string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+"/ready", nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return misuse
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	if resp.StatusCode != http.StatusOK {
		return 1
	}
	return 0
}

func settingsFrom(getenv func(string) string) (settings, error) {
	var errs []error
	duration := func(name string) time.Duration {
		d, err := parseDuration(getenv(name))
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		return d
	}
	cfg := settings{
		startDelay: duration("START_DELAY"),
		readyDelay: duration("READY_DELAY"),
		lifetime:   duration("LIFETIME"),
		termDelay:  duration("TERM_DELAY"),
		busy:       duration("BUSY"),
		port:       getenv("PORT"),
	}
	if text := getenv("EXIT_CODE"); text != "" {
		code, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			errs = append(errs, fmt.Errorf("EXIT_CODE: %q is no number from 0 to 255", text))
		}
		cfg.exitCode = int(code)
	}
	if text := getenv("MEMORY"); text != "" {
		mebibytes, err := strconv.ParseUint(text, 10, 16)
		if err != nil {
			errs = append(errs, fmt.Errorf("MEMORY: %q is no number of MiB", text))
		}
		cfg.memory = mebibytes << 20
	}
	return cfg, errors.Join(errs...)
}

// parseDuration accepts Go's notation ("1.5s") and whole seconds ("2").
func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is no duration such as 1.5s", text)
	}
	return d, nil
}
