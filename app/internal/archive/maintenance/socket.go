// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"github.com/kube-lifeline/lifeline/app/internal/datadir"
)

// maxSocket is the longest path of a Unix socket on all systems: 108 bytes on Linux and 104 on BSD
// and macOS, with a zero at the end.
const maxSocket = 103

// Listen opens the socket of a server in the directory of its cluster, in place of the socket of a
// killed server. Only one server may call it for a directory. The socket is made in a directory
// that nobody else can enter, and moved when only its owner may use it. Close of the listener
// removes it.
func Listen(ctx context.Context, dir string) (net.Listener, error) {
	ln, err := listen(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("cannot offer archive operations on %s: %w", datadir.Socket(dir), err)
	}
	return ln, nil
}

func listen(ctx context.Context, dir string) (net.Listener, error) {
	if runtime.GOOS == "windows" {
		return nil, errors.New("sockets have no permissions on Windows")
	}
	private := datadir.Socket(dir) + ".new"
	if err := os.RemoveAll(private); err != nil {
		return nil, err
	}
	if err := os.Mkdir(private, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(private, "s")
	short, release, err := shortened(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(private))
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "unix", short)
	release()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(private))
	}
	unix, _ := ln.(*net.UnixListener)
	unix.SetUnlinkOnClose(false) // its path changes
	err = os.Chmod(path, 0o600)
	if err == nil {
		err = os.Rename(path, datadir.Socket(dir))
	}
	if err = errors.Join(err, os.RemoveAll(private)); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return &listener{Listener: ln, path: datadir.Socket(dir)}, nil
}

// listener removes its socket.
type listener struct {
	net.Listener
	path string
}

// Addr returns the path of the socket.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close removes the socket and ends the listener. A second call only returns an error.
func (l *listener) Close() error {
	err := l.Listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return err
	}
	if removed := os.Remove(l.path); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// shortened returns a path to the same file for the system's calls, which limit its length. On
// Linux a long path begins with an open directory, as /proc/self/fd/7; release closes it.
func shortened(path string) (short string, release func(), err error) {
	if len(path) <= maxSocket {
		return path, func() {}, nil
	}
	tooLong := fmt.Errorf("its path has %d bytes, and at most %d are possible: use a shorter data directory",
		len(path), maxSocket)
	if runtime.GOOS != "linux" {
		return "", nil, tooLong
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	short = filepath.Join("/proc/self/fd", strconv.FormatUint(uint64(dir.Fd()), 10), filepath.Base(path))
	if _, err := os.Stat(filepath.Dir(short)); err != nil {
		return "", nil, errors.Join(tooLong, dir.Close())
	}
	return short, func() { _ = dir.Close() }, nil
}

// dial connects with the socket in the directory of a cluster. Without a server, the error is
// ErrNoServer.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	path := datadir.Socket(dir)
	short, release, err := shortened(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, ErrNoServer
		}
		return nil, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	defer release()
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", short)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, ErrNoServer
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("cannot use %s: only the user of the server may: %w", path, err)
	case err != nil:
		return nil, fmt.Errorf("cannot reach the server on %s: %w", path, err)
	}
	return conn, nil
}
