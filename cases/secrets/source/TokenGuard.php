<?php

declare(strict_types=1);

namespace Example\Auth;

use InvalidArgumentException;

/** Guards routes with tokens and passwords. */
final class TokenGuard
{
    public const TOKEN_HEADER = 'X-Auth-Token';
    public const PASSWORD_FIELD = 'password';
    private const SECRET_CONFIG = 'app.secret';
    private const MIN_PASSWORD = 12;

    private string $token = '';
    private ?string $password = null;
    private array $tokens = [];
    protected string $inputKey = 'api_token';
    protected string $storageKey = 'api_token';
    protected bool $hash = false;

    public function __construct(
        private readonly string $secret,
        ?string $password = null,
        string $token = '',
    ) {
        $this->password = $password;
        $this->token = $token ?: $secret;
        $this->tokens = ['access' => $token, 'refresh' => null];
    }

    public static function fromConfig(array $config): self
    {
        $secret = $config['secret'] ?? getenv('APP_SECRET');
        $password = $config['password'] ?? env('DB_PASSWORD', '');
        $token = $config['token'] ?? null;
        return new self(secret: $secret, password: $password, token: (string) $token);
    }

    public function validate(array $credentials = []): bool
    {
        if (empty($credentials[$this->inputKey])) {
            return false;
        }
        $password = $credentials[self::PASSWORD_FIELD];
        $token = $credentials['token'] ?? $this->token;
        return hash_equals($this->token, $token) && $this->checkPassword($password);
    }

    public function checkPassword(string $password): bool
    {
        if (strlen($password) < self::MIN_PASSWORD) {
            throw new InvalidArgumentException('password: at least ' . self::MIN_PASSWORD . ' characters');
        }
        return password_verify($password, $this->password ?? '');
    }

    public function headers(): array
    {
        return [
            'Authorization' => 'Bearer ' . $this->token,
            'Cookie' => "session={$this->token}",
            self::TOKEN_HEADER => $this->token,
        ];
    }

    public function dsn(string $user, string $password): string
    {
        $dsn = "mysql:host=localhost;dbname=app;user={$user};password={$password}";
        return sprintf('mysql://%s:%s@localhost/app', $user, $password) . $dsn;
    }

    /** @return list<array{token: string, secret: bool}> */
    public function lex(string $text): array
    {
        $tokens = [];
        foreach (explode(' ', $text) as $token) {
            $tokens[] = ['token' => $token, 'secret' => $token === 'secret'];
        }
        return $tokens;
    }

    public function rules(): array
    {
        return [
            'password' => 'required|string|min:12|confirmed',
            'token' => ['required', 'string'],
            'api_key' => 'nullable|string',
            'secret' => 'sometimes|required',
        ];
    }
}

return [
    'passwords' => [
        'users' => [
            'provider' => 'users',
            'table' => 'password_reset_tokens',
            'expire' => 60,
            'throttle' => 60,
        ],
    ],
    'password_timeout' => 10800,
    'token' => env('APP_TOKEN'),
    'secret' => env('APP_SECRET', 'secret'),
    'key' => env('APP_KEY'),
    'messages' => [
        'password' => 'The password is incorrect.',
        'token' => 'This password reset token is invalid.',
    ],
];
