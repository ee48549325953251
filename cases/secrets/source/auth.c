/* Passwords, tokens and keys in C. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_MAX 64
#define PASSWORD_MAX 128
#define SECRET_ENV "APP_SECRET"
#define PASSWORD_PROMPT "Password: "
#define TOKEN_SEPARATORS " \t\n"
#define AUTH_HEADER "Authorization: "

enum token_kind {
  TOKEN_EOF = 0,
  TOKEN_IDENT = 1,
  TOKEN_SECRET = 2,
  TOKEN_KEY = 3
};

struct token {
  enum token_kind kind;
  const char *token;
  size_t token_length;
  bool secret;
};

struct credentials {
  char *user;
  char *password;
  const char *token;
  uint8_t secret_key[32];
  uint8_t private_key[32];
  unsigned int tokens;
};

static const struct token no_token = {.kind = TOKEN_EOF, .token = NULL, .secret = false};

static const char *const token_names[] = {
    [TOKEN_EOF] = "eof",
    [TOKEN_IDENT] = "ident",
    [TOKEN_SECRET] = "secret",
    [TOKEN_KEY] = "key",
};

static int read_password(char *password, size_t length) {
  fputs(PASSWORD_PROMPT, stderr);
  if (fgets(password, (int)length, stdin) == NULL) {
    return -1;
  }
  password[strcspn(password, "\n")] = '\0';
  return password[0] == '\0' ? -1 : 0;
}

static struct token next_token(char **text) {
  struct token token = no_token;
  char *start = strtok_r(*text, TOKEN_SEPARATORS, text);
  if (start == NULL) {
    return token;
  }
  token.token = start;
  token.token_length = strlen(start);
  token.kind = strcmp(start, "secret") == 0 ? TOKEN_SECRET : TOKEN_IDENT;
  token.secret = token.kind == TOKEN_SECRET;
  return token;
}

static const char *token_name(enum token_kind kind) {
  return token_names[kind];
}

static int authorize(const struct credentials *credentials, char *header, size_t length) {
  const char *token = credentials->token != NULL ? credentials->token : getenv("TOKEN");
  const char *secret = getenv(SECRET_ENV);
  const char *password = credentials->password;
  if (token == NULL && secret == NULL) {
    return snprintf(header, length, AUTH_HEADER "Basic %s:%s", credentials->user, password);
  }
  return snprintf(header, length, AUTH_HEADER "Bearer %s", token != NULL ? token : secret);
}

static void forget(struct credentials *credentials) {
  memset(credentials->password, 0, strlen(credentials->password));
  memset(credentials->secret_key, 0, sizeof credentials->secret_key);
  memset(credentials->private_key, 0, sizeof credentials->private_key);
  credentials->token = NULL;
  credentials->tokens = 0;
}

static bool is_key(const char *text) {
  return strncmp(text, "-----BEGIN RSA PRIVATE KEY-----", 31) == 0 ||
         strncmp(text, "-----BEGIN OPENSSH PRIVATE KEY-----", 35) == 0;
}

int main(int argc, char **argv) {
  char password[PASSWORD_MAX] = "";
  char header[256];
  struct credentials credentials = {.user = "user", .password = password, .token = NULL};
  if (argc > 1 && strcmp(argv[1], "--token") == 0) {
    credentials.token = argc > 2 ? argv[2] : "";
  } else if (read_password(password, sizeof password) != 0) {
    fprintf(stderr, "no password: use --password PASSWORD or --token TOKEN\n");
    return 2;
  }
  authorize(&credentials, header, sizeof header);
  char *text = argc > 3 ? argv[3] : header;
  for (struct token token = next_token(&text); token.kind != TOKEN_EOF; token = next_token(&text)) {
    printf("%s: %.*s%s\n", token_name(token.kind), (int)token.token_length, token.token,
           is_key(token.token) ? " key" : "");
  }
  forget(&credentials);
  return 0;
}
