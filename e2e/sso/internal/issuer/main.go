//go:build ignore

// SPDX-License-Identifier: Apache-2.0

// The issuer is an OpenID provider with a page to log in: the provider and the page of zitadel/oidc, with the users of
// a file. The file is another program's configuration, so that nothing of it is a secret.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// configuration is the file that the only argument names.
type configuration struct {
	// Address is host:port, which is also the issuer's URL after https://.
	Address, CertFile, KeyFile string
	Clients                    []client
	// Users are by their names.
	Users map[string]user
}

// client is an application. With a secret it is a server, without one a program of the user.
type client struct {
	ID, Secret   string
	RedirectURIs []string
}

type user struct {
	Password, Email string
	Groups          []string
}

// store adds the claims email and groups to each ID token.
type store struct {
	*storage.Storage
	users map[string]user
}

// SetUserinfoFromRequest implements op.CanSetUserinfoFromRequest.
func (s store) SetUserinfoFromRequest(
	_ context.Context, info *oidc.UserInfo, token op.IDTokenRequest, _ []string,
) error {
	s.describe(info, token.GetSubject())
	return nil
}

// SetUserinfoFromToken implements op.Storage: the answer to a program with an access token.
func (s store) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, id, subject, origin string) error {
	if err := s.Storage.SetUserinfoFromToken(ctx, info, id, subject, origin); err != nil {
		return err
	}
	s.describe(info, subject)
	return nil
}

func (s store) describe(info *oidc.UserInfo, subject string) {
	of := s.users[subject]
	info.Subject, info.PreferredUsername = subject, subject
	info.Email, info.EmailVerified = of.Email, true
	info.AppendClaims("groups", of.Groups)
}

// directory is the users as the provider's page needs them.
type directory map[string]user

func (d directory) GetUserByUsername(name string) *storage.User { return d.GetUserByID(name) }
func (d directory) ExampleClientID() string                     { return storage.ServiceUserID }

func (d directory) GetUserByID(name string) *storage.User {
	of, ok := d[name]
	if !ok {
		return nil
	}
	return &storage.User{
		ID: name, Username: name, Password: of.Password, FirstName: name, Email: of.Email, EmailVerified: true,
	}
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var c configuration
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	for _, of := range c.Clients {
		if of.Secret == "" {
			storage.RegisterClients(storage.NativeClient(of.ID, of.RedirectURIs...))
		} else {
			storage.RegisterClients(storage.WebClient(of.ID, of.Secret, of.RedirectURIs...))
		}
	}
	users := store{storage.NewStorage(directory(c.Users)), c.Users}
	server := &http.Server{
		Addr:              c.Address,
		Handler:           exampleop.SetupServer("https://"+c.Address, users, slog.Default(), false),
		ReadHeaderTimeout: 5 * time.Second,
	}
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer release()
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.ListenAndServeTLS(c.CertFile, c.KeyFile); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
