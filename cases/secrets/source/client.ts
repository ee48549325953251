// A client whose types, parameters and strings are about tokens and passwords.

import { createHmac, randomBytes } from "node:crypto";

export type Token = string & { readonly brand: unique symbol };

export interface Credentials {
  user: string;
  password: string;
  token?: Token;
  apiKey: string | undefined;
  accessToken: Promise<Token>;
  refreshToken: () => Promise<Token>;
  secretKey: Uint8Array;
  privateKey: CryptoKey;
  sessionToken: Map<string, Token>;
  cookie: string;
  authorization: string | null;
}

export interface Usage {
  tokens: number;
  promptTokens: number;
  completionTokens: number;
  maxTokens?: number;
}

export const enum TokenType {
  Bearer = "bearer",
  Basic = "basic",
  ApiKey = "api_key",
}

const API_KEY_HEADER = "x-api-key";
const PASSWORD_PATTERN = /^(?=.*[a-z])(?=.*[A-Z])(?=.*\d).{12,}$/;
const TOKEN_STORAGE_KEY = "app.session.token";
const messages = {
  password: "Password",
  passwordRepeat: "Repeat the password",
  passwordTooShort: "The password needs 12 characters or more",
  token: "Token",
  secret: "Secret",
  apiKey: "API key",
};

export class TokenError extends Error {
  constructor(readonly token: string, readonly expected: TokenType = TokenType.Bearer) {
    super(`unexpected token: ${token}, expected ${expected}`);
  }
}

export async function login(user: string, password: string, token?: string): Promise<Token> {
  const response = await fetch("/login", {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ user, password, token: token ?? null }),
  });
  const { accessToken, refreshToken } = await response.json();
  if (!accessToken) throw new TokenError(String(accessToken));
  localStorage.setItem(TOKEN_STORAGE_KEY, accessToken);
  const secret = refreshToken as string;
  return sign(accessToken, secret) as Token;
}

export function sign(token: string, secret: string): string {
  const key = createHmac("sha256", secret);
  return key.update(token).digest("hex");
}

export const headers = (credentials: Credentials): Record<string, string> => ({
  Authorization: credentials.authorization ?? `Basic ${btoa(`${credentials.user}:${credentials.password}`)}`,
  [API_KEY_HEADER]: credentials.apiKey ?? "",
  Cookie: credentials.cookie,
});

export const config = {
  token: process.env.TOKEN,
  password: process.env.DB_PASSWORD,
  secret: process.env["APP_SECRET"] ?? "",
  apiKey: import.meta.env.VITE_API_KEY,
  sessionToken: sessionStorage?.getItem("token"),
  database: `postgres://${process.env.DB_USER}:${process.env.DB_PASSWORD}@localhost/app`,
};

export function parse(tokens: string[], at = 0): { token: string; next: number } {
  const token = tokens[at];
  let next = at + 1;
  while (tokens[next] === token) next += 1;
  return { token, next };
}

export const schema = {
  type: "object",
  required: ["password", "token"],
  properties: {
    password: { type: "string", minLength: 12, format: "password" },
    token: { type: "string", description: "A token from the console" },
    apiKey: { type: "string", nullable: true },
  },
};

export function Form({ onPassword, token }: { onPassword: (password: string) => void; token: number }) {
  const [password, setPassword] = useState("");
  const autoComplete = "current-password";
  return h("input", { type: "password", name: "password", value: password, key: token, autoComplete });
}

export const usage = (tokens: number): Usage => ({ tokens, promptTokens: tokens, completionTokens: 0 });

export const newSecret = (): string => randomBytes(32).toString("base64url");

describe("login", () => {
  it("takes a password", async () => {
    const credentials = { user: "user", password: "password", token: "token" };
    expect(credentials.password).toBe("password");
    expect(await login("user", "secret")).toBeDefined();
    expect(() => parse([], 0)).not.toThrow(TokenError);
    expect(PASSWORD_PATTERN.test("password")).toBe(false);
    expect(messages.token).toEqual("Token");
    expect({ apiKey: "test-api-key" }).toMatchObject({ apiKey: "test-api-key" });
  });
});

declare function useState<T>(value: T): [T, (value: T) => void];
declare function h(name: string, props: Record<string, unknown>): unknown;
declare function describe(name: string, body: () => void): void;
declare function it(name: string, body: () => Promise<void>): void;
declare function expect(value: unknown): any;
