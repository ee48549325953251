// Package token has tokens, secrets and passwords in every line that it can.
package token

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// Kind is the kind of a token.
type Kind int

const (
	TokenEOF Kind = iota
	TokenIdent
	TokenSecret
	TokenPassword
)

const (
	headerToken    = "X-Auth-Token"
	headerSecret   = "X-Secret"
	cookieName     = "session"
	envToken       = "APP_TOKEN"
	envPassword    = "APP_PASSWORD"
	minPasswordLen = 12
)

// ErrNoToken says that there is no token.
var ErrNoToken = errors.New("no token: set APP_TOKEN or pass --token")

// Credentials are what a client needs.
type Credentials struct {
	User        string            `json:"user"`
	Password    string            `json:"password,omitempty"`
	Token       string            `json:"token"`
	APIKey      *string           `json:"api_key"`
	Secret      []byte            `json:"secret"`
	AccessToken func() string     `json:"-"`
	Tokens      map[string]uint64 `json:"tokens"`
	PrivateKey  [32]byte          `json:"private_key"`
}

// Token is one token of a text.
type Token struct {
	Kind   Kind
	Text   string
	Secret bool
	Start  int
	End    int
}

type Source interface {
	Token(ctx context.Context) (token string, err error)
	Password(user string) (password string, ok bool)
}

type static struct {
	token    string
	password string
}

func (s static) Token(context.Context) (string, error) {
	if s.token == "" {
		return "", ErrNoToken
	}
	return s.token, nil
}

func (s static) Password(user string) (string, bool) {
	password := s.password
	return password, password != "" && password != user
}

// FromEnv reads the token and the password of the environment.
func FromEnv() Source {
	token := os.Getenv(envToken)
	password := os.Getenv(envPassword)
	secret, ok := os.LookupEnv("APP_SECRET")
	if !ok {
		secret = token
	}
	return static{token: secret, password: password}
}

// Sign makes a token of a secret.
func Sign(secret []byte, token string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(token))
	return hex.EncodeToString(mac.Sum(nil))
}

// Authorize puts a token into a request.
func Authorize(req *http.Request, token, password string) {
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set(headerToken, token)
	req.SetBasicAuth("user", password)
	req.AddCookie(&http.Cookie{Name: cookieName, Value: token})
}

// DSN is the address of a database.
func DSN(user, password, host string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/app?sslmode=disable", user, password, host)
}

// Lex takes a text apart.
func Lex(text string) (tokens []Token, err error) {
	start := 0
	for at, r := range text {
		if r != ' ' {
			continue
		}
		token := Token{Kind: TokenIdent, Text: text[start:at], Start: start, End: at}
		if strings.HasPrefix(token.Text, "secret") {
			token.Kind, token.Secret = TokenSecret, true
		}
		tokens = append(tokens, token)
		start = at + 1
	}
	return append(tokens, Token{Kind: TokenEOF, Start: start, End: len(text)}), nil
}

func checkPassword(password, repeated string) error {
	switch {
	case len(password) < minPasswordLen:
		return fmt.Errorf("password has %d characters, needs %d", len(password), minPasswordLen)
	case password != repeated:
		return errors.New("password: the two are different")
	}
	return nil
}

func usage() string {
	return `usage: app [--token TOKEN] [--password PASSWORD] [--secret FILE]

  --token TOKEN        the token to use, $APP_TOKEN by default
  --password PASSWORD  the password of the user
  --api-key KEY        the key of the service
`
}

func testCases() []struct{ token, password, want string } {
	return []struct{ token, password, want string }{
		{token: "token", password: "password", want: "token"},
		{token: "", password: "secret", want: ""},
		{token: "<token>", password: "********", want: "<token>"},
	}
}
