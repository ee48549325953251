package org.example.login;

import java.nio.charset.StandardCharsets;
import java.security.PrivateKey;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Tokens and passwords, as programs name them. */
public final class Login {
    public static final String TOKEN_HEADER = "X-Auth-Token";
    public static final String PASSWORD_PARAMETER = "password";
    public static final String SECRET_PROPERTY = "app.secret";
    public static final int TOKEN_LENGTH = 32;
    public static final String DEFAULT_PASSWORD_ENCODER = "bcrypt";
    private static final String API_KEY_QUERY = "api_key=";
    private static final long TOKEN_LIFETIME_SECONDS = 3600L;

    private final String user;
    private final String password;
    private final Optional<String> token;
    private final char[] secret;
    private PrivateKey privateKey;
    private String accessToken;
    private Map<String, Integer> tokens;

    /**
     * Logs in.
     *
     * @param user the name
     * @param password the password
     * @param token the token, or null
     */
    public Login(String user, String password, String token) {
        this.user = user;
        this.password = password;
        this.token = Optional.ofNullable(token);
        this.secret = password.toCharArray();
        this.accessToken = token == null ? "" : token;
        this.tokens = Map.of("total", 0);
    }

    public static Login fromEnvironment() {
        String token = System.getenv("APP_TOKEN");
        String password = System.getProperty(SECRET_PROPERTY, System.getenv("APP_PASSWORD"));
        return new Login(System.getProperty("user.name"), password, token);
    }

    public String authorization() {
        String credentials = user + ":" + password;
        String basic = Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8));
        return token.map(token -> "Bearer " + token).orElse("Basic " + basic);
    }

    public String cookie() {
        return "session=" + accessToken + "; Path=/; HttpOnly";
    }

    public String url(String host) {
        String apiKey = token.orElse("none");
        return "https://" + user + ":" + password + "@" + host + "/?" + API_KEY_QUERY + apiKey;
    }

    public boolean isPassword(String password) {
        return password != null && this.password.equals(password) && secret.length > 0;
    }

    public void setPrivateKey(PrivateKey privateKey) {
        this.privateKey = privateKey;
    }

    public Token next(List<Token> tokens, int at) {
        Token token = tokens.get(at);
        if (token.kind() == Token.Kind.SECRET) {
            throw new IllegalStateException("unexpected token: " + token.text());
        }
        int tokenCount = tokens.size();
        return tokenCount > at + 1 ? tokens.get(at + 1) : token;
    }

    public record Token(Kind kind, String text, boolean secret) {
        enum Kind { IDENT, NUMBER, SECRET, EOF }
    }

    @Override
    public String toString() {
        return "Login{user='" + user + "', password='***', token=" + token.isPresent() + "}";
    }

    static void example() {
        Login login = new Login("user", "password", "token");
        Login other = new Login("admin", "secret", null);
        assert login.isPassword("password");
        assert other.authorization().startsWith("Basic ");
        assert login.cookie().equals("session=token; Path=/; HttpOnly");
        String json = "{\"user\": \"user\", \"password\": \"password\", \"token\": null}";
        String template = "password=${password}&token=${token}";
        assert json.contains("password") && template.contains("token");
    }
}
